export { parseInstant } from './parse-instant.ts';
