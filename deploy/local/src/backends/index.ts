export { isAlive, tryLock, unlock } from '../../file-lock.mjs';
export { spawnAttached, stopProcess } from './attached-process.ts';
export { freePort } from './free-port.ts';
export { type NatsOptions, type RunningNats, startNats } from './nats.ts';
export { findNatsServer } from './nats-server-program.ts';
export { type PostgresOptions, type RunningPostgres, startPostgres } from './postgres.ts';
export { runProgram } from './program.ts';
export { until } from './until.ts';
