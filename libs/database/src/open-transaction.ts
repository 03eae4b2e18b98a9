import type { ClientBase } from 'pg';
import { type Answer, type Statement, sendBatch } from './statement-batch.ts';

/** One transaction on a connection, from its first statement on. */
export interface Transaction {
  send(statement: Statement): Promise<Answer>;
  /** Has it sent with the next one; it fails what it is sent with. */
  sendWithNext(statement: Statement): void;
  /** @throws Error when a statement has failed, caught or not: it has undone everything before it */
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

interface Waiting {
  readonly statement: Statement;
  readonly answered?: (answer: Answer) => void;
  readonly failed?: (error: unknown) => void;
}

// NOTE: without names, for Postgres counts a prepared one in its statistics only the first time.
const BEGIN: Statement = { name: '', text: 'BEGIN', values: [] };
const COMMIT: Statement = { name: '', text: 'COMMIT', values: [] };
const ROLLBACK: Statement = { name: '', text: 'ROLLBACK', values: [] };

/** Nothing is sent before the first statement, which takes BEGIN along; what is sent at one moment goes together. */
export function openTransaction(connection: ClientBase): Transaction {
  let isOpen = false;
  let failure: { readonly cause: unknown } | undefined;
  let waiting: Waiting[] = [];
  let isAboutToSend = false;

  const sendWaiting = async (): Promise<void> => {
    const together = waiting;
    waiting = [];
    isAboutToSend = false;
    const statements = together.map(({ statement }) => statement);
    try {
      if (failure !== undefined) throw failure.cause;
      const first = isOpen ? [] : [BEGIN];
      isOpen = true;
      const answers = await sendBatch(connection, [...first, ...statements]);
      for (const [at, { answered }] of together.entries()) answered?.(answers[first.length + at] as Answer);
    } catch (cause) {
      failure ??= { cause };
      for (const { failed } of together) failed?.(cause);
    }
  };

  const send = (statement: Statement): Promise<Answer> =>
    new Promise((answered, failed) => {
      waiting.push({ statement, answered, failed });
      if (isAboutToSend) return;
      isAboutToSend = true;
      process.nextTick(sendWaiting);
    });

  return {
    send,
    sendWithNext: (statement) => void waiting.push({ statement }),
    async commit() {
      if (!isOpen && waiting.length === 0) return;
      if (failure === undefined && (await send(COMMIT)).command === 'COMMIT') return;
      throw new Error('a transaction with a failed statement cannot be committed', failure);
    },
    async rollback() {
      // What was asked for and not sent yet must not be sent on its own, or to whoever has the connection next.
      failure ??= { cause: new Error('the transaction was rolled back') };
      // On a connection that is lost there is nothing left to undo.
      if (isOpen) await sendBatch(connection, [ROLLBACK]).catch(() => undefined);
    },
  };
}
