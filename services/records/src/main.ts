import { armFailpoints } from '@kr/failpoint';
import { createLogger } from '@kr/telemetry';
import { readConfig } from './config.ts';
import { startRecordsService } from './service.ts';

const logger = createLogger('records');
armFailpoints(process.env['FAILPOINT'], logger);
const service = await startRecordsService(readConfig(process.env), logger);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void service.stop());
