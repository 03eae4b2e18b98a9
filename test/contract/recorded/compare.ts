import type { KnownIds } from './known-ids.ts';
import type { Exchange } from './transcript.ts';

export interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
  json: unknown;
}

/** A value of the recording as this system is to have it. */
export type Expect = (recorded: unknown, ours: unknown, path: string, exchange: Exchange) => unknown;

/** Values that no two runs share: only what they look like is compared. */
const VOLATILE =
  /(?:^|\.)(?:created|updated|created_at|revision_id|version_id|file_id|bucket_id|token|owned_by\.\d+\.user|(?:created|updated)_date_l10n_long)$/;
const DRAFT_EXPIRY = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/;

/** What must not appear where the recording has none of it. More than was recorded is fine elsewhere. */
const HIDDEN = /(?:^|\.)(?:errors|parent\.access|versions\.is_latest_draft|files\.order)$/;

/** Headers that say something about the body. */
const HEADERS = ['content-type', 'content-disposition', 'content-md5', 'etag', 'allow', 'location'];

/** `shape`: the values are another entity's, so only names and types are compared. */
type Mode = 'exact' | 'shape';

/**
 * How an answer of ours differs from the recorded one: one line for each place, `path: recorded → ours`. Answers of
 * different status are told apart by their errors alone.
 */
export function differences(exchange: Exchange, ours: Answer, ids: KnownIds, expect: Expect): string[] {
  const { answer } = exchange;
  if (answer.status !== ours.status) {
    const [recorded, own] = [asObject(answer.json), asObject(ours.json)];
    return [
      ...differ('status', answer.status, ours.status),
      ...(own?.['message'] === recorded?.['message']
        ? []
        : differ('message', recorded?.['message'], own?.['message'])),
      ...(own?.['errors'] === undefined ? [] : differ('errors', undefined, summary(own['errors']))),
    ];
  }
  return [
    ...compareHeaders(),
    ...(answer.json === undefined ? [] : compareJson(answer.json, ours.json, '', 'exact')),
  ];

  function differ(path: string, recorded: unknown, own: unknown): string[] {
    return [`${path}: ${brief(recorded)} → ${ids.recorded(brief(own))}`];
  }

  function compareHeaders(): string[] {
    // Without content there is no type of it.
    const names = exchange.method === 'OPTIONS' ? ['allow'] : answer.status === 204 ? [] : HEADERS;
    return names.flatMap((name) => {
      const [recorded, own] = [answer.headers[name], ours.headers[name]];
      if (recorded === undefined) return [];
      const isSame = name === 'allow' ? wordsOf(own) === wordsOf(recorded) : own === recorded;
      return isSame ? [] : differ(name, recorded, own);
    });
  }

  function compareJson(given: unknown, own: unknown, path: string, mode: Mode): string[] {
    const recorded = expect(given, own, path, exchange);
    if (isSearch(exchange)) {
      if (path === 'hits.hits') return compareHits(recorded, own, path);
      // How many there are is the data's; whether there are any is not.
      if (path === 'hits.total') return (recorded === 0) === (own === 0) ? [] : differ(path, recorded, own);
      if (path === 'links.prev' || path === 'links.next') return [];
    }
    if (path.endsWith('.buckets')) return compareBuckets(recorded, own, path);
    if (Array.isArray(recorded)) return compareArrays(recorded, own, path, mode);
    const object = asObject(recorded);
    if (object !== undefined) return compareObjects(object, asObject(own), path, mode);
    return isSame(recorded, own, path, mode) ? [] : differ(path, recorded, own);
  }

  function compareObjects(
    recorded: Record<string, unknown>,
    own: Record<string, unknown> | undefined,
    path: string,
    mode: Mode,
  ): string[] {
    if (own === undefined) return differ(path, recorded, own);
    // Both are of the entity's own making.
    if (mode === 'shape' && /\.(?:metadata|relationship)$/.test(path)) return [];
    const shown = Object.keys(own).filter((key) => !(key in recorded) && HIDDEN.test(join(path, key)));
    return [
      ...Object.entries(recorded).flatMap(([key, value]) =>
        compareJson(value, own[key], join(path, key), mode),
      ),
      ...shown.flatMap((key) => differ(join(path, key), undefined, own[key])),
    ];
  }

  function compareArrays(recorded: readonly unknown[], own: unknown, path: string, mode: Mode): string[] {
    if (!Array.isArray(own)) return differ(path, recorded, own);
    if (mode === 'shape') {
      const both = recorded.length > 0 && own.length > 0;
      return both ? compareJson(recorded[0], own[0], join(path, '0'), mode) : [];
    }
    if (path.endsWith('entries')) return compareEntries(recorded, own, path);
    const isCut = answer.isCut && recorded.length < own.length;
    if (own.length !== recorded.length && !isCut) return differ(path, summary(recorded), summary(own));
    const ordered = path.endsWith('hits.hits') ? inOrderOf(recorded, own) : own;
    return recorded.flatMap((item, index) =>
      compareJson(item, ordered[index], join(path, String(index)), mode),
    );
  }

  // What the original held at that time is not known; what a hit looks like is.
  function compareHits(recorded: unknown, own: unknown, path: string): string[] {
    if (!Array.isArray(recorded) || !Array.isArray(own)) return differ(path, recorded, own);
    if (recorded.length === 0 && own.length > 0) return differ(path, [], summary(own));
    return recorded.flatMap((hit, index) => {
      const place = join(path, String(index));
      const twin = own.find((one) => idOf(one) === ids.translate(idOf(hit)));
      if (twin !== undefined) return compareJson(hit, twin, place, 'exact');
      const other = own.find((one) => typeOf(one) === typeOf(hit));
      if (other !== undefined) return compareJson(hit, other, place, 'shape');
      return own.length === 0 ? differ(place, idOf(hit), undefined) : [];
    });
  }

  // Files are listed in the order of their making, which the original does not keep to.
  function compareEntries(recorded: readonly unknown[], own: readonly unknown[], path: string): string[] {
    const keyOf = (entry: unknown) => String(asObject(entry)?.['key']);
    const missing = recorded.flatMap((entry) => {
      const place = join(path, keyOf(entry));
      const twin = own.find((one) => keyOf(one) === keyOf(entry));
      return twin === undefined
        ? differ(place, asObject(entry)?.['status'], undefined)
        : compareJson(entry, twin, place, 'exact');
    });
    const isMore = !answer.isCut && own.length > recorded.length;
    return [...missing, ...(isMore ? differ(path, recorded.map(keyOf), own.map(keyOf)) : [])];
  }

  // Which values there are and how often is the data's again.
  function compareBuckets(recorded: unknown, own: unknown, path: string): string[] {
    if (!Array.isArray(recorded) || !Array.isArray(own)) return differ(path, recorded, own);
    if (recorded.length > 0 && own.length === 0) return differ(path, recorded, own);
    return recorded.flatMap((bucket) => {
      const twin = own.find((one) => asObject(one)?.['key'] === asObject(bucket)?.['key']);
      if (twin === undefined) return [];
      const counted = { ...bucket, doc_count: twin.doc_count };
      return compareJson(counted, twin, join(path, String(bucket.key)), 'exact');
    });
  }

  // Resources are sorted by moments that no two runs share.
  function inOrderOf(recorded: readonly unknown[], own: readonly unknown[]): readonly unknown[] {
    if (!exchange.target.includes('/resources')) return own;
    const place = (one: unknown) => recorded.findIndex((hit) => ids.translate(idOf(hit)) === idOf(one));
    return own.toSorted((a, b) => place(a) - place(b));
  }

  function isSame(recorded: unknown, own: unknown, path: string, mode: Mode): boolean {
    if (typeof recorded !== typeof own || (recorded === null) !== (own === null)) return false;
    if (typeof recorded !== 'string' || typeof own !== 'string') {
      return mode === 'shape' || VOLATILE.test(path) || Object.is(recorded, own);
    }
    if (path.endsWith('expires_at') && DRAFT_EXPIRY.test(recorded)) return DRAFT_EXPIRY.test(own);
    if (mode === 'shape') return !/(?:^|\.)links\.\w+$/.test(path) || own.startsWith('http');
    if (recorded.startsWith('Revision id ')) return digitsAside(recorded) === digitsAside(own);
    if (!VOLATILE.test(path)) return ids.matches(recorded, own);
    return /^\d{4}-/.test(recorded) ? digitsAside(recorded) === digitsAside(own) : own !== '';
  }
}

/** Listings whose hits depend on all that is stored. */
function isSearch({ target }: Exchange): boolean {
  return /^\/api\/(?:user\/)?(?:records|packages|search)(?:\?|$)/.test(target);
}

export function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function idOf(hit: unknown): string {
  return String(asObject(hit)?.['id']);
}

function typeOf(hit: unknown): unknown {
  return asObject(asObject(hit)?.['parent'])?.['type'];
}

/** Entities by their ids, errors by their fields. */
function summary(items: unknown): unknown {
  if (!Array.isArray(items)) return items;
  return items.map((item) => {
    const { id, field, messages } = asObject(item) ?? {};
    return id ?? (field === undefined ? item : `${field}: ${messages}`);
  });
}

function digitsAside(text: string): string {
  return text.replace(/\d/g, '0');
}

function wordsOf(text = ''): string {
  return text.split(/, */).sort().join();
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

const MOST_SHOWN = 1000;

function brief(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}…`;
}
