export { ConfigError } from './config-error.ts';
export { describeVariables, type Variable } from './describe-variables.ts';
export { type AboutInteger, type AboutVariable, EnvReader } from './env-reader.ts';
export type { Environment } from './environment.ts';
export {
  readCallerKeys,
  readDatabaseUrl,
  readDatabaseUrlAlone,
  readLeastDownload,
  readListening,
  readNatsUrl,
  readOwnerLimits,
  readPeerAddress,
  readPeerKey,
  readPort,
  readPrefixes,
  readRemovalRetention,
  readRpcDeadline,
  readTicketKey,
  readVocabularyDir,
} from './service-variables.ts';
