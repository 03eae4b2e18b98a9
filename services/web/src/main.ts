import { runService } from '@kr/service-host';
import { readConfig } from './config.ts';
import { startWebService } from './service.ts';

await runService('web', process.env, (logger) => startWebService(readConfig(process.env), logger));
