import { until as untilWithin } from '@kr/local-stack/backends';

/** A machine that runs several whole systems beside each other needs many times as long as a quiet one. */
const PATIENCE_MS = 180_000;

/** As the one of `@kr/local-stack`, with the patience of a test where none is told. */
export const until: typeof untilWithin = (question, options) =>
  untilWithin(question, { timeoutMs: PATIENCE_MS, ...options });
