export { ConfigError } from './config-error.ts';
export { describeVariables, type Variable } from './describe-variables.ts';
export { type AboutInteger, type AboutVariable, EnvReader } from './env-reader.ts';
export type { Environment } from './environment.ts';
export {
  MIN_DOWNLOAD_BYTES_PER_SECOND,
  readCallerKeys,
  readDatabaseUrl,
  readDatabaseUrlAlone,
  readListening,
  readNatsUrl,
  readOwnerLimits,
  readPeerAddress,
  readPeerKey,
  readPort,
  readPrefixes,
  readRemovalRetention,
  readTicketKey,
  readVocabularyDir,
  rpcDeadlineMs,
} from './service-variables.ts';
export { constant, type TestSettings, testSettings } from './test-settings.ts';
