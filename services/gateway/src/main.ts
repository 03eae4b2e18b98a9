import { runService } from '@kr/service-host';
import { readConfig } from './config.ts';
import { startGatewayService } from './service.ts';

await runService('gateway', process.env, (logger) => startGatewayService(readConfig(process.env), logger));
