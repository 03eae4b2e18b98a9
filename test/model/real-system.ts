import { deepStrictEqual, ok } from 'node:assert/strict';
import { until } from '@kr/testbed';
import type { Entity, Failed, FilesListing, Listing } from '../e2e/story/answers.ts';
import type { Answer, HttpClient, Sent } from '../e2e/story/http-client.ts';
import { withoutHints } from '../e2e/story/without-hints.ts';
import { isFoundByAll } from './model-of-links.ts';
import {
  contextResources,
  draftResources,
  ownListing,
  publishedResources,
  type Seen,
  versionListing,
} from './model-of-packages.ts';
import {
  actualFiles,
  actualView,
  expectedFiles,
  expectedView,
  type Form,
  falseFileProblems,
  sorted,
  type View,
} from './observe.ts';
import { allItems, type Caller, type Item, type Verdict, type World } from './reference-model.ts';

/** The last read state of one form of one entity. */
interface LastRead {
  revision: number;
  view: View;
  tag: string;
  text: string;
}

export interface RealSystem {
  clients: Record<Caller, HttpClient>;
  requests: number;
  lastReads: Map<string, LastRead>;
  expectedBefore: Map<string, string>;
  /** Ids of deleted entities. */
  goneIds: string[];
}

export function realSystem(clients: Record<Caller, HttpClient>): RealSystem {
  return { clients, requests: 0, lastReads: new Map(), expectedBefore: new Map(), goneIds: [] };
}

async function send<Body = unknown>(
  real: RealSystem,
  caller: Caller,
  method: string,
  path: string,
  sent?: Sent,
): Promise<Answer<Body>> {
  real.requests += 1;
  const answer = await real.clients[caller].call<Body>(method, path, sent);
  return { ...answer, body: withoutHints(answer.body) };
}

/** Sends a request and compares the answer with the model. */
export async function attempt<Body = unknown>(
  real: RealSystem,
  request: { caller: Caller; method: string; path: string; sent?: Sent },
  only: Verdict,
): Promise<Answer<Body>> {
  const { caller, method, path, sent } = request;
  const answer = await send<Failed>(real, caller, method, path, sent);
  const verdict = answer.status === only.orElse?.status ? only.orElse : only;
  const { message, errors = [] } = answer.body ?? {};
  const told = { status: answer.status, ...(verdict.message === undefined ? {} : { message }) };
  const { status } = verdict;
  const expected = { status, ...(verdict.message === undefined ? {} : { message: verdict.message }) };
  const what = `${caller}: ${method} ${path} ${JSON.stringify(sent ?? {})}\nanswered ${answer.text}`;
  same(told, expected, what);
  if (verdict.problems !== undefined) same(sorted(errors), sorted(verdict.problems), what);
  return answer as Answer<Body>;
}

export function same(actual: unknown, expected: unknown, what: string): void {
  try {
    deepStrictEqual(actual, expected);
  } catch (cause) {
    throw new Error(`${what}\n${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

/** Reads all changes of the model, and the subject of the step, and compares all of it. */
export async function compareWorlds(world: World, real: RealSystem, focus?: Item): Promise<void> {
  const before = real.expectedBefore;
  const now = new Map<string, string>();
  const reads: Promise<void>[] = [];
  for (const item of allItems(world)) {
    for (const form of formsOf(item)) {
      const key = keyOf(item, form);
      const expected = JSON.stringify([expectedView(world, item, form), expectedFiles(item, form)]);
      now.set(key, expected);
      if (before.get(key) !== expected || item === focus) reads.push(compareOne(world, real, item, form));
    }
  }
  for (const key of before.keys()) if (!now.has(key)) reads.push(compareGone(world, real, key));
  real.expectedBefore = now;
  await Promise.all(reads);
}

const keyOf = ({ id, family }: Item, form: Form): string => `${family.kind} ${id} ${form}`;

const formsOf = ({ draft, published }: Item): Form[] => [
  ...(draft === undefined ? [] : (['draft'] as const)),
  ...(published === undefined ? [] : (['published'] as const)),
];

const pathOf = ({ id, family }: Item, form: Form): string =>
  `/${family.kind}/${id}${form === 'draft' ? '/draft' : ''}`;

async function compareOne(world: World, real: RealSystem, item: Item, form: Form): Promise<void> {
  const { kind, owner } = item.family;
  const path = pathOf(item, form);
  const expected = expectedView(world, item, form);
  const [read, files] = await Promise.all([
    send<Entity>(real, owner, 'GET', path),
    send<FilesListing>(real, owner, 'GET', `${path}/files`),
  ]);
  same(read.status, 200, `GET ${path} answered ${read.text}`);
  const { body } = read;
  const view = actualView(body, kind);
  same(view, expected, `GET ${path}`);
  if (form === 'draft') same(falseFileProblems(body.errors, item), [], `GET ${path} has files`);
  const { revision_id: revision } = body;
  const tag = read.headers.get('etag') ?? '';
  same(tag.replace(/\..*"/, '"'), `"${revision}"`, `the ETag of ${path}`);
  const last = real.lastReads.get(keyOf(item, form));
  checkRevision(path, last, revision, view);
  const { text } = read;
  if (last !== undefined) same(tag === last.tag, text === last.text, `${path}: ${tag} after ${last.tag}`);
  real.lastReads.set(keyOf(item, form), { revision, view, tag, text });
  same(files.status, 200, `GET ${path}/files answered ${files.text}`);
  same(actualFiles(files.body), expectedFiles(item, form), `GET ${path}/files`);
}

function checkRevision(path: string, last: LastRead | undefined, revision: number, view: View): void {
  if (last === undefined) return;
  ok(revision >= last.revision, `${path}: the revision fell from ${last.revision} to ${revision}`);
  // Uploads change the status that is derived from files, and nothing that an editor could lose.
  const own = ({ pids, metadata, access, files }: View) =>
    JSON.stringify({ pids, metadata, access: { ...access, status: '' }, files });
  if (own(view) === own(last.view)) return;
  const grew = `${path}: the document changed and the revision stayed at ${revision}`;
  ok(revision > last.revision, grew);
}

/** Deleted state is gone: the id if nothing is left, else the one form. */
async function compareGone(world: World, real: RealSystem, key: string): Promise<void> {
  const [kind, id = '', form] = key.split(' ');
  const item = allItems(world).find((one) => one.id === id);
  if (item === undefined) real.goneIds.push(id);
  const path = `/${kind}/${id}${form === 'draft' ? '/draft' : ''}`;
  const answer = await send<Failed>(real, item?.family.owner ?? 'ada', 'GET', path);
  const message = item === undefined ? 'The persistent identifier does not exist.' : 'Not found.';
  same([answer.status, answer.body.message], [404, message], `GET ${path} of a deleted entity`);
}

// ---- listings

async function seenIn(
  real: RealSystem,
  caller: Caller,
  path: string,
): Promise<{ status: number; seen: Seen; total: number }> {
  const { status, body } = await send<Listing>(real, caller, 'GET', `${path}?size=200`);
  if (status !== 200) return { status, seen: {}, total: 0 };
  const { hits, total } = body.hits;
  const seen = Object.fromEntries(
    hits.map(({ id, is_draft }) => [id, is_draft ? ('draft' as const) : ('published' as const)]),
  );
  return { status, seen, total };
}

export async function compareOwnListings(world: World, real: RealSystem): Promise<void> {
  for (const person of ['ada', 'ben'] as const) {
    for (const kind of ['records', 'packages'] as const) {
      const path = `/user/${kind}`;
      const { seen, total } = await seenIn(real, person, path);
      const expected = ownListing(world, person, kind);
      same(seen, expected, `${person}: GET ${path}`);
      same(total, Object.keys(expected).length, `${person}: total of ${path}`);
    }
  }
}

export async function comparePackageListings(
  world: World,
  real: RealSystem,
  main: Item,
  caller: Caller,
): Promise<void> {
  const listings: [string, Seen, boolean][] = [
    [`/packages/${main.id}/draft/resources`, draftResources(caller, main), true],
    [`/packages/context/${main.family.parentId}/resources`, contextResources(world, caller, main), true],
    [`/packages/${main.id}/resources`, publishedResources(caller, main), false],
  ];
  for (const [path, expected, needsCredentials] of listings) {
    const { status, seen } = await seenIn(real, caller, path);
    const refused = needsCredentials && caller === 'nobody';
    same(
      { status, seen },
      refused ? { status: 401, seen: {} } : { status: 200, seen: expected },
      `${caller}: GET ${path}`,
    );
  }
}

/** Search follows what is published within seconds. */
export async function compareSearch(world: World, real: RealSystem, caller: Caller): Promise<void> {
  const items = allItems(world);
  if (items.length === 0) return;
  const q = encodeURIComponent(items.map(({ id }) => `id:${id}`).join(' OR '));
  const expected = items.filter(isFoundByAll).map(({ id }) => id);
  let found: string[] = [];
  const isFound = async () => {
    const { status, body, text } = await send<Listing>(real, caller, 'GET', `/search?size=200&q=${q}`);
    same(status, 200, text);
    found = body.hits.hits.map(({ id }) => id);
    return JSON.stringify(found.toSorted()) === JSON.stringify(expected.toSorted());
  };
  await until(isFound).catch(() => undefined);
  same(found.toSorted(), expected.toSorted(), `${caller}: a search for everything`);
}

export async function compareVersions(real: RealSystem, item: Item, caller: Caller): Promise<void> {
  const path = `/${item.family.kind}/${item.id}/versions`;
  const { status, body } = await send<Listing>(real, caller, 'GET', path);
  const ids = status === 200 ? body.hits.hits.map(({ id }) => id) : [];
  same({ status, ids }, { status: 200, ids: versionListing(caller, item) }, `${caller}: GET ${path}`);
}
