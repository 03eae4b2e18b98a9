import pg, { type ClientBase, type QueryConfig } from 'pg';

/** One statement with its parameters; with a name it is parsed once for each connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

export interface Answer {
  readonly rows: object[];
  /** How many rows it gave or changed. */
  readonly rowCount: number;
}

/** One transaction on a connection, from its first statement on. */
export interface Transaction {
  send(statement: Statement): Promise<Answer>;
  /** Sends a statement without waiting for its answer; if it fails, so does what follows. */
  sendAhead(statement: Statement): void;
  /** @throws Error when a statement has failed, caught or not: it has undone everything before it */
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

const INT8 = 20;
/** 64-bit numbers are a BigInt, as a Prisma client gives them. */
const types: NonNullable<QueryConfig['types']> = {
  getTypeParser: ((id: number, format?: 'text') =>
    id === INT8 ? BigInt : pg.types.getTypeParser(id, format)) as typeof pg.types.getTypeParser,
};

export async function sendStatement(connection: ClientBase, statement: Statement): Promise<Answer> {
  const { rows, rowCount } = await connection.query<object>({ ...statement, types });
  return { rows, rowCount: rowCount ?? 0 };
}

/** The connection sends statements without waiting for the answers to those before: `pipeline` of the driver. */
export function openTransaction(connection: ClientBase): Transaction {
  let isOpen = false;
  let failure: { readonly cause: unknown } | undefined;
  const ahead: Promise<Answer>[] = [];

  const noted = async <Result>(answer: Promise<Result>): Promise<Result> => {
    try {
      return await answer;
    } catch (cause) {
      // Those behind the first that fails are refused because of it.
      failure ??= { cause };
      throw failure.cause;
    }
  };

  const send = async (statement: Statement): Promise<Answer> => {
    if (failure !== undefined) throw failure.cause;
    if (!isOpen) noted(connection.query('BEGIN')).catch(() => undefined);
    isOpen = true;
    return noted(sendStatement(connection, statement));
  };

  return {
    send,
    sendAhead(statement) {
      const answer = send(statement);
      answer.catch(() => undefined);
      ahead.push(answer);
    },
    async commit() {
      if (!isOpen) return;
      if (failure === undefined) {
        const { command } = await noted(connection.query('COMMIT'));
        if (command === 'COMMIT') return;
      }
      await Promise.all(ahead);
      throw new Error('a transaction with a failed statement cannot be committed', failure);
    },
    async rollback() {
      failure ??= { cause: new Error('the transaction was rolled back') };
      // On a connection that is lost there is nothing left to undo.
      if (isOpen) await connection.query('ROLLBACK').catch(() => undefined);
    },
  };
}
