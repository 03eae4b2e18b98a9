export { openPool } from './open-pool.ts';
export { ONE_PLAN, type StatementNames, statementNames } from './statement-names.ts';
export { type RawSql, withQuickReads } from './with-quick-reads.ts';
