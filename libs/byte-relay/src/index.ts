export { endSlowReading, type SlowReading } from './end-slow-reading.ts';
export { pipeAll } from './pipe-all.ts';
export { type ConfirmEnd, pipeReleasing } from './pipe-releasing.ts';
export { release } from './release.ts';
