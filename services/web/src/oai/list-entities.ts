import { type Entity, instantOf } from '@kr/formats';
import type { Removal, Repository } from '../api/repository.ts';
import { OaiError } from './oai-error.ts';
import type { ListState } from './resumption-token.ts';

const PAGE = 100;

/** An entity as a list has it; a removed one has no document. */
export type Listed = { id: string; datestamp: string } & (
  | { entity: Entity }
  | { entity?: undefined; kind: string }
);

export interface EntityPage {
  listed: Listed[];
  /** Undefined at the end of the list. */
  next: ListState | undefined;
  /** Of the search; removed entities are not counted. */
  total: number;
}

/** One page of a list: published entities in the order of their publication, and then the removed ones. */
export async function listEntities(repository: Repository, state: ListState): Promise<EntityPage> {
  if (state.removed !== undefined) return removedPage(repository, state, 0);
  const found = await repository.search(queryOf(state));
  const { hits, total } = found.hits;
  const listed = hits.map(
    (entity): Listed => ({ id: entity.id, datestamp: instantOf(entity.updated), entity }),
  );
  const nextUrl = found.links['next'];
  const position = state.position + listed.length;
  const cursor =
    nextUrl === undefined ? undefined : (new URL(nextUrl).searchParams.get('cursor') ?? undefined);
  if (cursor !== undefined) return { listed, total, next: { ...state, cursor, position } };
  const removed = await removedPage(repository, { ...state, removed: '', position }, PAGE - listed.length);
  return { listed: [...listed, ...removed.listed], total, next: removed.next };
}

function queryOf({ from, until, set, cursor }: ListState): URLSearchParams {
  const { q, ...selected } = set === undefined ? {} : selectionOf(set);
  const time =
    from === undefined && until === undefined ? [] : [`updated:[${from ?? '*'} TO ${until ?? '*'}]`];
  const conditions = [...time, ...(q === undefined ? [] : [q])];
  return new URLSearchParams({
    ...(conditions.length === 0 ? {} : { q: conditions.join(' AND ') }),
    ...selected,
    allversions: '1',
    sort: 'oldest',
    size: String(PAGE),
    cursor: cursor ?? '*',
  });
}

const SETS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  records: { record_type: 'resource' },
  packages: { record_type: 'package' },
  'access:open': { q: 'access.status:open' },
};

/**
 * Parameters of the search that select a set.
 * @throws OaiError `noRecordsMatch`: there is no such set
 */
function selectionOf(set: string): Readonly<Record<string, string>> {
  const known = SETS[set];
  if (known !== undefined) return known;
  const [, kind, id = ''] = /^(type|package):([\w-]{1,100})$/.exec(set) ?? [];
  if (kind === 'type') return { resource_type: id.includes('-') ? `${id.split('-')[0]}::${id}` : id };
  if (kind === 'package') return { q: `relationship.packages.id:${id}` };
  throw new OaiError('noRecordsMatch', 'There is no such set.');
}

/** Removed entities in the order of their removal, at most `room`, or as many as fill a page. */
async function removedPage(repository: Repository, state: ListState, room: number): Promise<EntityPage> {
  const { removed = '', start, from = '', until, set } = state;
  // A removed entity has left its sets, except those by kind.
  const kinds =
    set === undefined ? ['records', 'packages'] : ['records', 'packages'].filter((kind) => kind === set);
  const all = (await Promise.all(kinds.map((kind) => repository.removals(kind)))).flat();
  const waiting = all
    .map((removal) => ({ ...removal, key: `${removal.removedAt} ${removal.id}` }))
    .filter(({ removedAt, key }) => {
      const datestamp = instantOf(removedAt);
      return (
        removedAt < start &&
        key > removed &&
        datestamp >= from &&
        (until === undefined || datestamp.slice(0, until.length) <= until)
      );
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const size = room > 0 ? room : PAGE;
  const page = waiting.slice(0, size);
  const next =
    waiting.length > size
      ? { ...state, removed: page.at(-1)?.key ?? '', position: state.position + page.length }
      : undefined;
  return { listed: page.map(listedRemoval), next, total: 0 };
}

function listedRemoval({ id, kind, removedAt }: Removal): Listed {
  return { id, kind, datestamp: instantOf(removedAt) };
}
