export { ERROR_KINDS, type ErrorKind, isErrorKind } from './error-kind.ts';
export { type Issue, ServiceError, type ServiceErrorOptions } from './service-error.ts';
