import { runMigrations } from '@kr/service-host';
import { SCHEMA } from './schema.ts';

await runMigrations('gateway', process.env, SCHEMA);
