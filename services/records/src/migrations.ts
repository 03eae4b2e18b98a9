import { fileURLToPath } from 'node:url';

/** The tables of this service alone; those of the lifecycle and of the event bus come first. */
export const MIGRATIONS = {
  name: 'records',
  directory: fileURLToPath(new URL('../migrations', import.meta.url)),
};
