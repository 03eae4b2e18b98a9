export { readLogSettings } from './log-settings.ts';
export { createLogger, type Logger } from './logger.ts';
export { type Count, counter, durations, type Measure, observeGauges, type Reading } from './measures.ts';
export { type Attributes, currentTraceId, traceHeaders, withRemoteTrace, withSpan } from './traces.ts';
