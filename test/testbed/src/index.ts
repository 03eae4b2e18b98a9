export { type FreshDatabase, freshDatabase } from './fresh-database.ts';
export { startNats, type TestNats } from './nats.ts';
export { until } from './until.ts';
