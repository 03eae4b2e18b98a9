import { armFailpoints } from '@kr/failpoint';
import { createLogger } from '@kr/telemetry';
import { readConfig } from './config.ts';
import { startFilesService } from './service.ts';

const logger = createLogger('files');
armFailpoints(process.env['FAILPOINT'], logger);
const starting = startFilesService(readConfig(process.env), logger);
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void starting.then((service) => service.stop()));
}
await starting;
