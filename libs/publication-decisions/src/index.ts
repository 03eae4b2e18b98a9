export { decisionQuery, type PublicationsClient, type QueryDecisions } from './publication-decisions.ts';
