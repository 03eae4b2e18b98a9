export { type Drain, openDrain } from './open-drain.ts';
