export { runMigrations, runService } from './run-service.ts';
export {
  type RunningService,
  type ServiceParts,
  type StartOptions,
  startService,
} from './start-service.ts';
