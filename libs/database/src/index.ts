export { type Database, openDatabase } from './open-database.ts';
export { openPool } from './open-pool.ts';
export { quickDatabase } from './quick-database.ts';
export { executeWithNext, type Sql, type SqlDatabase, sqlOn } from './sql.ts';
export { ONE_PLAN, type StatementNames, statementNames } from './statement-names.ts';
