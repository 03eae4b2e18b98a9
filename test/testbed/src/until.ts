import { until as untilWithin } from '@kr/local-stack/backends';

/** A machine that runs several whole systems at once needs many times as long as a quiet one. */
const PATIENCE_MS = 180_000;

/** `until` of `@kr/local-stack` with a longer default timeout for tests. */
export const until: typeof untilWithin = (question, options) =>
  untilWithin(question, { timeoutMs: PATIENCE_MS, ...options });
