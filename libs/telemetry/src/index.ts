export { LOG_VARIABLES } from './log-level.ts';
export { createLogger, type Logger } from './logger.ts';
export { type Count, counter, durations, type Measure, observeGauges, type Reading } from './measures.ts';
export { traceRequests } from './request-spans.ts';
export {
  type Attributes,
  currentTraceId,
  nameRequest,
  traceHeaders,
  withCauses,
  withRemoteTrace,
  withSpan,
} from './traces.ts';
