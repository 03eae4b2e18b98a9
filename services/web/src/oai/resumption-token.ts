import { OaiError } from './oai-error.ts';

/**
 * The whole state of a list, so that a token works for ever and in every process. `cursor` is the position in the search;
 * once that has ended, `removed` is the last deleted entity that was sent.
 */
export interface ListState {
  prefix: string;
  from?: string | undefined;
  until?: string | undefined;
  set?: string | undefined;
  /** Time of the first request: entities that are removed later are not part of the list. */
  start: string;
  cursor?: string | undefined;
  removed?: string | undefined;
  /** Entities sent before. */
  position: number;
}

const MEMBERS = ['prefix', 'from', 'until', 'set', 'start', 'cursor', 'removed'] as const;

export function writeToken({ position, ...rest }: ListState): string {
  const values = [position, ...MEMBERS.map((name) => rest[name] ?? null)];
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/** @throws OaiError `badResumptionToken` */
export function readToken(token: string): ListState {
  const [position, ...values] = parsed(token);
  const isText = (value: unknown): boolean => value === null || typeof value === 'string';
  if (typeof position !== 'number' || values.length !== MEMBERS.length || !values.every(isText))
    throw invalid();
  const texts = MEMBERS.map((name, index) => [name, values[index] ?? undefined] as const);
  const { prefix = '', start = '', ...rest } = Object.fromEntries(texts) as Partial<ListState>;
  return { ...rest, prefix, start, position };
}

function parsed(token: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (Array.isArray(value)) return value;
  } catch {
    // It is not a token of this repository.
  }
  throw invalid();
}

function invalid(): OaiError {
  return new OaiError('badResumptionToken', 'The resumption token is invalid.');
}
