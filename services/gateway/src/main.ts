import { readConfig } from './config.ts';
import { startGatewayService } from './service.ts';

const service = await startGatewayService(readConfig(process.env));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void service.stop());
