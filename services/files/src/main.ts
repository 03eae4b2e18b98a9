import { createLogger } from '@kr/telemetry';
import { readConfig } from './config.ts';
import { startFilesService } from './service.ts';

const logger = createLogger('files');
const service = await startFilesService(readConfig(process.env), logger);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void service.stop());
