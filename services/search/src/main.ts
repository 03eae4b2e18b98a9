import { armFailpoints } from '@kr/failpoint';
import { createLogger } from '@kr/telemetry';
import { readConfig } from './config.ts';
import { startSearchService } from './service.ts';

const logger = createLogger('search');
armFailpoints(process.env['FAILPOINT'], logger);
const service = await startSearchService(readConfig(process.env), logger);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void service.stop());
