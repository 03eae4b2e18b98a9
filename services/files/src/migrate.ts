import { migrate } from '@kr/schema-migration';
import { readDatabaseUrlAlone } from '@kr/service-config';
import { createLogger } from '@kr/telemetry';
import { SCHEMA } from './schema.ts';

const logger = createLogger('files');
await migrate({ databaseUrl: readDatabaseUrlAlone(process.env), sets: SCHEMA, logger });
logger.info('the schema is up to date');
