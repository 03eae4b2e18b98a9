import pg, { type Pool } from 'pg';
import { holdConnection } from './hold-connection.ts';
import { type Answer, openTransaction, type Statement, sendStatement } from './open-transaction.ts';
import type { Sql, SqlDatabase } from './sql.ts';
import type { StatementNames } from './statement-names.ts';

const TRANSACTION_MS = 5_000;
/** Longer than any statement may last: then something is wrong with the connection. */
const STATEMENT_MS = 15_000;

/** Other statements may write, so they are not retried. */
const READ = /^\s*select\b/i;

/**
 * Runs statements as prepared ones directly on the connections of the pool, at a third of the cost of a
 * Prisma client. Statements of a transaction that are started together, by `Promise.all`, are sent together,
 * and BEGIN with the first.
 *
 * A lost connection, or none available, fails with a transient error. Only a read outside transactions is
 * retried once: the pool may not have noticed a lost connection.
 */
export function quickDatabase(pool: Pool, nameOf: StatementNames): SqlDatabase {
  const alone = async (statement: Statement): Promise<Answer> => {
    const run = () =>
      holdConnection(pool, STATEMENT_MS, (connection) => sendStatement(connection, statement));
    if (!READ.test(statement.text)) return run();
    return run().catch((error: unknown) => {
      if (isAnswer(error)) throw error;
      return run();
    });
  };
  return {
    ...statements(nameOf, alone),
    $transaction: (run, { timeout = TRANSACTION_MS } = {}) =>
      holdConnection(pool, timeout, async (connection) => {
        const transaction = openTransaction(connection);
        try {
          const result = await run({
            ...statements(nameOf, transaction.send),
            $executeWithNext: async (text, ...values) =>
              transaction.sendAhead({ name: nameOf({ sql: text }), text, values }),
          });
          await transaction.commit();
          return result;
        } catch (error) {
          await transaction.rollback();
          throw error;
        }
      }),
  };
}

/** Whether Postgres has spoken of the statement, rather than of the end of the connection (SQLSTATE 57P01 to 57P05). */
function isAnswer(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code?.startsWith('57P') !== true;
}

function statements(nameOf: StatementNames, send: (statement: Statement) => Promise<Answer>): Sql {
  return {
    async $queryRawUnsafe<Rows>(text: string, ...values: unknown[]) {
      const { rows } = await send({ name: nameOf({ sql: text }), text, values });
      return rows as Rows;
    },
    async $executeRawUnsafe(text, ...values) {
      const { rowCount } = await send({ name: nameOf({ sql: text }), text, values });
      return rowCount;
    },
  };
}
