export { ERROR_KINDS, type ErrorKind, isErrorKind } from './error-kind.ts';
export { isTransient } from './is-transient.ts';
export { type Issue, ServiceError, type ServiceErrorOptions } from './service-error.ts';
