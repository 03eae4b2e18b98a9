import { runService } from '@kr/service-host';
import { readConfig } from './config.ts';
import { startPackagesService } from './service.ts';

await runService('packages', process.env, (logger) => startPackagesService(readConfig(process.env), logger));
