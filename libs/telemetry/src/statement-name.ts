export interface Statement {
  /** Such as `update publication`. */
  name: string;
  operation: 'select' | 'insert' | 'update' | 'delete' | 'transaction' | 'other';
}

const TRANSACTION = /^\s*(begin|commit|rollback|savepoint|release|set)\b/i;
const CHANGE =
  /\b(insert)\s+into\s+([\w".]+)|\b(update)\s+(?:only\s+)?([\w".]+)(?:\s+(?:as\s+)?\w+)?\s+set\b|\b(delete)\s+from\s+([\w".]+)/i;
const READ = /^\s*(?:select|with)\b(?:[\s\S]*?\bfrom\s+(?:only\s+)?([\w".]+))?/i;

/** Statements are few, but some contain lists of any length. */
const MAX_CACHED = 1_000;
const statements = new Map<string, Statement>();

/** The operation and table of a statement, also behind common table expressions. */
export function describeStatement(text: string): Statement {
  const found = statements.get(text) ?? parse(text);
  if (statements.size < MAX_CACHED) statements.set(text, found);
  return found;
}

function parse(text: string): Statement {
  const [, control] = TRANSACTION.exec(text) ?? [];
  if (control !== undefined) return { name: control.toLowerCase(), operation: 'transaction' };
  const change = CHANGE.exec(text)
    ?.slice(1)
    .filter((part) => part !== undefined);
  if (change !== undefined) {
    const operation = (change[0] ?? '').toLowerCase() as Statement['operation'];
    return { name: `${operation} ${tableOf(change[1])}`, operation };
  }
  const read = READ.exec(text);
  if (read === null) return { name: 'statement', operation: 'other' };
  return { name: `select ${tableOf(read[1])}`.trimEnd(), operation: 'select' };
}

/** Without its schema and quotes. */
function tableOf(name = ''): string {
  return name.slice(name.lastIndexOf('.') + 1).replaceAll('"', '');
}
