import { runService } from '@kr/service-host';
import { readConfig } from './config.ts';
import { startSearchService } from './service.ts';

await runService('search', process.env, (logger) => startSearchService(readConfig(process.env), logger));
