export { type Health, type HealthOptions, startHealth } from './start-health.ts';
