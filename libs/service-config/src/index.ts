export { ConfigError } from './config-error.ts';
export type { Environment } from './environment.ts';
export { type About, boolean, integer, list, oneOf, optional, secret, text, url } from './fields.ts';
export {
  choice,
  group,
  readEnvironment,
  type Section,
  titled,
  type Variable,
  variables,
  whenSet,
} from './sections.ts';
export * from './service-variables.ts';
export { constant, type TestSettings, testSettings } from './test-settings.ts';
