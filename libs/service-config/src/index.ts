export { ConfigError } from './config-error.ts';
export { type Environment, EnvReader, type IntegerOptions } from './env-reader.ts';
