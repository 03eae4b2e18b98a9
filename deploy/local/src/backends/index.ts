export { freePort } from './free-port.ts';
export { type NatsOptions, type RunningNats, startNats } from './nats.ts';
export { type PostgresOptions, type RunningPostgres, startPostgres } from './postgres.ts';
export { until } from './until.ts';
