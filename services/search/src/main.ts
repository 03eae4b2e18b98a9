import { readConfig } from './config.ts';
import { startSearchService } from './service.ts';

const service = await startSearchService(readConfig(process.env));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void service.stop());
