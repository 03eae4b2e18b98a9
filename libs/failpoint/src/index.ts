export { armFailpoints, around, failpoint } from './failpoint.ts';
export { FAILPOINTS, type Failpoint } from './failpoints.ts';
