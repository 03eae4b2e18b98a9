export { type AskDecisions, type AskedPublications, publicationDecisions } from './publication-decisions.ts';
