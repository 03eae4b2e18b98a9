import { runService } from '@kr/service-host';
import { readConfig } from './config.ts';
import { startRecordsService } from './service.ts';

await runService('records', process.env, (logger) => startRecordsService(readConfig(process.env), logger));
