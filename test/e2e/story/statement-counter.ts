import type { Watcher } from '@kr/testbed';
import type { TestSystem } from '@kr/testbed/system';

const DATABASES = [
  'gateway to postgres',
  'records to postgres',
  'packages to postgres',
  'files to postgres',
  'access-links to postgres',
  'search to postgres',
] as const;

/** For `startSystem`: every statement of every service passes where it can be counted. */
export const COUNTED = { proxied: DATABASES, settings: { publishScanMs: 60_000 } };

/** The names of the statements that poll outboxes all the time, for any request. */
const RELAYING = new Set(['unpublished', 'mark-published']);
/** How often the same request is made: other chores of the services fall into some of them, never into all. */
const TRIES = 10;

export interface StatementCounter {
  /** The statements that a request takes by itself, BEGIN and COMMIT included, over all services. */
  of(request: () => Promise<unknown>): Promise<number>;
  /** The statements during one request, of all processes. */
  during(request: () => Promise<unknown>): Promise<number>;
}

/** Counts on the wire, in front of the databases of a system that was started with `COUNTED`. */
export function statementCounter(system: Pick<TestSystem, 'proxy'>): StatementCounter {
  let count = 0;
  for (const edge of DATABASES) {
    system.proxy(edge).watch(
      statementWatcher(() => {
        count += 1;
      }),
    );
  }
  const during = async (request: () => Promise<unknown>): Promise<number> => {
    const before = count;
    await request();
    return count - before;
  };
  return {
    during,
    of: async (request) => {
      let fewest = Number.POSITIVE_INFINITY;
      for (let tries = 0; tries < TRIES; tries += 1) fewest = Math.min(fewest, await during(request));
      return fewest;
    },
  };
}

/** Source: PostgreSQL, Frontend/Backend Protocol, Message Formats: a type, a length that counts itself, the content. */
function statementWatcher(onStatement: () => void): Watcher {
  const unfinished = new WeakMap<object, Buffer>();
  return (bytes, connection) => {
    let rest = Buffer.concat([unfinished.get(connection) ?? Buffer.alloc(0), bytes]);
    for (let length = messageLength(rest); length <= rest.length; length = messageLength(rest)) {
      if (isStatement(rest.subarray(0, length))) onStatement();
      rest = rest.subarray(length);
    }
    unfinished.set(connection, rest);
  };
}

/** Query, or Bind of a prepared statement: its content begins with the names of the portal and of the statement. */
function isStatement(message: Buffer): boolean {
  const type = String.fromCharCode(message[0] ?? 0);
  if (type !== 'B') return type === 'Q';
  const [, name = ''] = message.toString('latin1', 5).split('\0', 2);
  return !RELAYING.has(name);
}

/** With its type, which the first message of a connection has not; infinite when not enough of it is there. */
function messageLength(bytes: Buffer): number {
  const typeLength = bytes[0] === 0 ? 0 : 1;
  return bytes.length < typeLength + 4
    ? Number.POSITIVE_INFINITY
    : typeLength + bytes.readInt32BE(typeLength);
}
