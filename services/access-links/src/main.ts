import { readConfig } from './config.ts';
import { startAccessLinksService } from './service.ts';

const service = await startAccessLinksService(readConfig(process.env));

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void service.stop());
}
