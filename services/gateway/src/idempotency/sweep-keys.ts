import type { Logger } from '@kr/telemetry';
import type { KeyStore } from './key-store.ts';

const EVERY_MS = 10 * 60 * 1000;

/** Removes keys whose time is over, now and then, until stopped. */
export function sweepKeys(keys: Pick<KeyStore, 'sweep'>, logger: Logger): { stop(): void } {
  const sweep = async (): Promise<void> => {
    while ((await keys.sweep()) > 0);
  };
  const timer = setInterval(
    () => void sweep().catch((err: unknown) => logger.warn({ err }, 'idempotency keys not swept')),
    EVERY_MS,
  );
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
