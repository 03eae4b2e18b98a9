import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { connectBus, STREAM } from '@kr/event-bus';
import { createLogger } from '@kr/telemetry';
import type { TestSystem } from '@kr/testbed/system';
import { jetstreamManager } from '@nats-io/jetstream';
import { Client } from 'pg';
import { type ChangeLog, inTurns } from './http.ts';

/** A personal access token, or that of a link. */
const TOKEN_SHAPE = String.raw`kpat_[0-9A-Za-z]{38}|kl1_[\w-]{40,}`;
const STACK_TRACE = String.raw`\\n\s+at \S+ \(|\.ts:\d+:\d+`;
const SOURCES = resolve(import.meta.dirname, '../..');

/** All encodings of a secret. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')];
}

/** The secrets that every service of the system was started with. */
export async function keysOf({ logDir }: Pick<TestSystem, 'logDir'>): Promise<string[]> {
  const told = JSON.parse(await readFile(join(dirname(logDir), 'secrets.json'), 'utf8'));
  return textsIn(told);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const sha256 = (text: string) => createHash('sha256').update(text).digest();

function anyOf(texts: readonly string[]): string {
  return texts.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|');
}

/** Scans answers as they arrive. */
export interface AnswerScan {
  see(method: string, target: string, told: ChangeLog): void;
  /** Forbidden contents of answers, by route. */
  found: string[];
  seen: number;
}

/** Every answer is scanned for tokens, keys, digests of tokens, stack traces and paths of the machine. */
export function answerScan(
  keys: readonly string[],
  tokens: readonly string[],
  { logDir }: Pick<TestSystem, 'logDir'>,
): AnswerScan {
  const digests = tokens.flatMap((token) => [
    sha256(token).toString('hex'),
    sha256(token).toString('base64'),
  ]);
  const paths = [SOURCES, dirname(logDir)];
  const never = new RegExp(`${anyOf([...keys, ...digests, ...paths])}|${STACK_TRACE}`);
  const token = new RegExp(TOKEN_SHAPE);
  const scan: AnswerScan = {
    found: [],
    seen: 0,
    see(method, target, { status, headers, text }) {
      scan.seen += 1;
      const whole = `${JSON.stringify(headers)}\n${text}`;
      const match = never.exec(whole) ?? (showsTokens(method, target, status) ? null : token.exec(whole));
      if (match !== null) scan.found.push(`${method} ${target}: ${match[0].slice(0, 12)}…`);
    },
  };
  return scan;
}

/** A new token is shown once; that of a link to callers who manage links. */
function showsTokens(method: string, target: string, status: number): boolean {
  if (status >= 300) return false;
  return target.includes('/access/links') || (method === 'POST' && target.startsWith('/api/user/tokens'));
}

/** Usable credentials in logs, events or databases: any form of a token, or of its secret part. */
function credentials(keys: readonly string[], tokens: readonly string[]): RegExp {
  const SIGNATURE_LENGTH = 43;
  const parts = tokens.flatMap((token) =>
    token.startsWith('kl1_') ? [token, token.slice(-SIGNATURE_LENGTH)] : [token, token.slice('kpat_'.length)],
  );
  const signatures = parts
    .filter((part) => part.length === SIGNATURE_LENGTH)
    .map((part) => Buffer.from(part, 'base64url').toString('hex'));
  return new RegExp(`${anyOf([...keys, ...parts].flatMap(formsOf).concat(signatures))}|${TOKEN_SHAPE}`);
}

/** All stored and logged data of a system besides its answers. */
export async function leaksOf(
  system: TestSystem,
  tokens: readonly string[],
): Promise<{ leaks: string[]; logs: number; events: number; rows: number }> {
  const keys = await keysOf(system);
  const usable = credentials(keys, tokens);
  const leaks: string[] = [];
  const look = (where: string, text: string) => {
    const match = usable.exec(text);
    if (match !== null) leaks.push(`${where}: ${match[0].slice(0, 12)}…`);
  };
  const logs = await lookAtLogs(system, look);
  const events = await lookAtEvents(system, look);
  const rows = await lookAtDatabases(system, look);
  return { leaks: [...new Set(leaks)], logs, events, rows };
}

type Look = (where: string, text: string) => void;

async function lookAtLogs({ logDir }: TestSystem, look: Look): Promise<number> {
  let lines = 0;
  for (const name of await readdir(logDir)) {
    for (const line of (await readFile(join(logDir, name), 'utf8')).split('\n')) {
      lines += 1;
      look(`log ${name}`, line);
    }
  }
  return lines;
}

async function lookAtEvents({ natsUrl }: TestSystem, look: Look): Promise<number> {
  const bus = connectBus({ servers: new URL(natsUrl), name: 'test', logger: createLogger('test') });
  try {
    const { streams } = await jetstreamManager(await bus.whenUp(AbortSignal.timeout(60_000)));
    const { first_seq: first, last_seq: last } = (await streams.info(STREAM)).state;
    const numbers = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    await inTurns(numbers, async (seq) => {
      const message = await streams.getMessage(STREAM, { seq });
      if (message === null) return;
      const headers = [...message.header].map(([name, values]) => `${name}: ${values.join()}`);
      look(
        `event ${message.subject}`,
        `${headers.join('\n')}\n${Buffer.from(message.data).toString('latin1')}`,
      );
    });
    return numbers.length;
  } finally {
    await bus.close();
  }
}

async function lookAtDatabases({ databaseUrls }: TestSystem, look: Look): Promise<number> {
  let count = 0;
  for (const [service, connectionString] of Object.entries(databaseUrls)) {
    const database = new Client({ connectionString });
    await database.connect();
    try {
      const { rows: tables } = await database.query<{ name: string }>(
        `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
         where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
      );
      for (const { name } of tables) {
        const { rows } = await database.query<{ row: string }>(`select t::text as row from ${name} t`);
        count += rows.length;
        for (const { row } of rows) look(`${service} ${name}`, row);
      }
    } finally {
      await database.end();
    }
  }
  return count;
}

/** The rows in which the digest of a token lies: by these it is known. */
export async function digestsOf({ databaseUrls }: TestSystem, tokens: readonly string[]): Promise<number> {
  const database = new Client({ connectionString: databaseUrls.gateway });
  await database.connect();
  try {
    const { rows } = await database.query<{ found: string }>(
      'select count(*) as found from personal_access_token where hash = any($1)',
      [tokens.map(sha256)],
    );
    return Number(rows[0]?.found);
  } finally {
    await database.end();
  }
}
