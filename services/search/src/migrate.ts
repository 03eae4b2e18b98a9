import { runMigrations } from '@kr/service-host';
import { SCHEMA } from './schema.ts';

await runMigrations('search', process.env, SCHEMA);
