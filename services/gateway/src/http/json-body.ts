import { type Issue, ServiceError } from '@kr/service-error';

const DEEPEST = 32;
const LONGEST_LIST = 1_000;
/** In UTF-16 units. */
const LONGEST_TEXT = 65_536;

/** A coastline has more positions than any list of ours has items; the size of the body is limit enough. */
const UNLIMITED = 'coordinates';

/** Keys that would reach an object's prototype in code that copies carelessly. */
const REFUSED_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/**
 * A JSON body, more strictly than JSON.parse: UTF-8 only, no key twice in one object, no key that means an object's
 * prototype, no half of a surrogate pair, at most 32 levels, lists of at most 1,000 items and texts of at most 65,536
 * characters. An empty body is undefined.
 *
 * @throws ServiceError `invalid`
 */
export function decodeJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const text = utf8(bytes);
  if (text.trim() === '') return undefined;
  const value = parsed(text);
  const issue = structureIssue(text);
  if (issue !== undefined) {
    throw new ServiceError('invalid', 'A validation error occurred.', { issues: [issue] });
  }
  return value;
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw notJson(cause);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notJson(cause);
  }
}

function notJson(cause: unknown): ServiceError {
  return new ServiceError('invalid', 'Unable to decode JSON data in request body.', { cause });
}

interface Level {
  /** Keys seen so far; undefined inside a list. */
  keys: Set<string> | undefined;
  /** The key or the position of the value that comes next. */
  at: string | number;
}

/** The first thing wrong with the structure of a text that is known to be JSON. */
function structureIssue(text: string): Issue | undefined {
  const levels: Level[] = [];
  let latest = '';
  for (const [token] of text.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (token === '{' || token === '[') {
      if (levels.length === DEEPEST) return issue(levels, `Nested deeper than ${DEEPEST} levels.`);
      levels.push(token === '{' ? { keys: new Set(), at: '' } : { keys: undefined, at: 0 });
    } else if (token === '}' || token === ']') {
      levels.pop();
    } else if (token === ':' && level?.keys !== undefined) {
      // As services store it: without null characters.
      level.at = (JSON.parse(latest) as string).replaceAll('\u0000', '');
      if (REFUSED_KEYS.has(level.at)) return issue(levels, 'Unknown field.');
      if (level.keys.has(level.at)) return issue(levels, 'Duplicate key.');
      level.keys.add(level.at);
    } else if (token === ',' && typeof level?.at === 'number') {
      level.at += 1;
      if (level.at === LONGEST_LIST && !levels.some(({ at }) => at === UNLIMITED)) {
        levels.pop();
        return issue(levels, `Longer than maximum length ${LONGEST_LIST}.`);
      }
    } else if (token.startsWith('"')) {
      latest = token;
      if (isTooLong(token)) return issue(levels, `Longer than maximum length ${LONGEST_TEXT}.`);
      // Only an escape can bring half a pair: the bytes were valid UTF-8.
      if (token.includes('\\u') && !(JSON.parse(token) as string).isWellFormed()) {
        return issue(levels, 'Not a valid string.');
      }
    }
  }
  return undefined;
}

function isTooLong(token: string): boolean {
  return token.length - 2 > LONGEST_TEXT && (JSON.parse(token) as string).length > LONGEST_TEXT;
}

function issue(levels: readonly Level[], message: string): Issue {
  const path = levels.map(({ at }) => String(at).toWellFormed()).filter((part) => part !== '');
  return { field: path.length === 0 ? '_schema' : path.join('.'), messages: [message] };
}
