export { endSlowReading, type SlowReading } from './end-slow-reading.ts';
export { type ConfirmEnd, passOn } from './pass-on.ts';
export { relay } from './relay.ts';
export { release } from './release.ts';
