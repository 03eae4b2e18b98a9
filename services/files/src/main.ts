import { runService } from '@kr/service-host';
import { readConfig } from './config.ts';
import { startFilesService } from './service.ts';

await runService('files', process.env, (logger) => startFilesService(readConfig(process.env), logger));
