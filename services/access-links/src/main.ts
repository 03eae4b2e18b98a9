import { runService } from '@kr/service-host';
import { readConfig } from './config.ts';
import { startAccessLinksService } from './service.ts';

await runService('access-links', process.env, (logger) =>
  startAccessLinksService(readConfig(process.env), logger),
);
