export { createLogger, type Logger } from './logger.ts';
export { type Attributes, traceHeaders, withRemoteTrace, withSpan } from './traces.ts';
