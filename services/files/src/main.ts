import { createLogger } from '@kr/telemetry';
import { readConfig } from './config.ts';
import { startFilesService } from './service.ts';

const starting = startFilesService(readConfig(process.env), createLogger('files'));
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void starting.then((service) => service.stop()));
}
await starting;
