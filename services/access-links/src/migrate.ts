import { runMigrations } from '@kr/service-host';
import { SCHEMA } from './schema.ts';

await runMigrations('access-links', process.env, SCHEMA);
