import fc from 'fast-check';
import type { AccessLink, Entity, FilesListing, Issue, Listing } from '../e2e/story/answers.ts';
import { anyBody, completeBody, fileKey } from './bodies.ts';
import type { Body, Kind } from './document-rules.ts';
import {
  commit,
  deleteFile,
  deleteFiles,
  download,
  importFiles,
  putContent,
  startFiles,
} from './model-of-files.ts';
import {
  createLink,
  type Held,
  listLinks,
  readDraftWith,
  readPublishedWith,
  revokeLink,
  updateWith,
} from './model-of-links.ts';
import {
  addResources,
  associate,
  dissociate,
  importResources,
  type ListVerdict,
  removeResources,
} from './model-of-packages.ts';
import { actualFiles, actualView, expectedFiles, expectedView, type Form, sorted } from './observe.ts';
import {
  attempt,
  compareOwnListings,
  comparePackageListings,
  compareSearch,
  compareVersions,
  compareWorlds,
  type RealSystem,
  same,
} from './real-system.ts';
import {
  allItems,
  type Caller,
  create,
  discard,
  discardDoi,
  edit,
  type Family,
  type Item,
  isUnpublished,
  latestOf,
  newVersion,
  type Permission,
  publish,
  publishProblems,
  readDraft,
  readLatest,
  readPublished,
  reserveDoi,
  type Target,
  update,
  type Verdict,
  validate,
  type World,
} from './reference-model.ts';

type Command = fc.AsyncCommand<World, RealSystem>;

/** The sent id and its sender; the effect is known when the command runs. */
interface Aim {
  kind: Kind;
  pick: number;
  /** Prefers what the operation is made for. */
  fits: boolean;
  oddity: 'none' | 'unknown id' | 'other kind' | 'parent id';
  caller: 'owner' | 'other' | 'nobody';
}

const kind = fc.constantFrom<Kind>('records', 'records', 'packages');
const often = <T>(weight: number, usual: T, ...others: T[]) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
const aimAt = (kinds: fc.Arbitrary<Kind>): fc.Arbitrary<Aim> =>
  fc.record({
    kind: kinds,
    pick: fc.nat({ max: 99 }),
    fits: often(9, true, false),
    oddity: often<Aim['oddity']>(20, 'none', 'unknown id', 'other kind', 'parent id'),
    caller: often<Aim['caller']>(9, 'owner', 'other', 'nobody'),
  });
const anyAim = aimAt(kind);
const packageAim = aimAt(fc.constant('packages'));
const resourceAim = fc.record({
  kind: fc.constant<Kind>('records'),
  pick: fc.nat({ max: 99 }),
  fits: often(9, true, false),
  oddity: often<Aim['oddity']>(60, 'none', 'unknown id', 'other kind', 'parent id'),
  caller: fc.constant<Aim['caller']>('owner'),
});

type Fits = (item: Item) => boolean;
const NEVER_GIVEN = 'zzzzz-zzz99';

function candidates(world: World, { kind, oddity, fits }: Aim, prefers: Fits): Item[] {
  const isOther = oddity === 'other kind';
  const all = allItems(world).filter(({ family }) => (family.kind === kind) !== isOther);
  const preferred = fits ? all.filter(prefers) : all;
  return preferred.length > 0 ? preferred : all;
}

function take(world: World, real: RealSystem, aim: Aim, prefers: Fits): { caller: Caller; target: Target } {
  const items = candidates(world, aim, prefers);
  const item = items[aim.pick % Math.max(items.length, 1)];
  const owner = item?.family.owner ?? 'ada';
  const other: Caller = owner === 'ada' ? 'ben' : 'ada';
  const callers: Record<Aim['caller'], Caller> = { owner, other, nobody: 'nobody' };
  const caller = callers[aim.caller];
  if (item === undefined || aim.oddity === 'unknown id') {
    const id = real.goneIds[aim.pick % Math.max(real.goneIds.length, 1)] ?? NEVER_GIVEN;
    return { caller, target: { kind: aim.kind, id } };
  }
  const { kind } = aim;
  if (aim.oddity === 'parent id')
    return { caller, target: { kind, id: item.family.parentId, isParent: true } };
  return { caller, target: { kind, id: item.id, item } };
}

interface Step {
  name: string;
  detail?: unknown;
  aim?: Aim;
  prefers?: Fits;
  /** @returns what the step was about */
  act(world: World, real: RealSystem, aimed: { caller: Caller; target: Target }): Promise<Item | undefined>;
}

function command({ name, detail, aim, prefers = () => true, act }: Step): Command {
  let aimed = '';
  return {
    check: (world) =>
      aim === undefined || aim.oddity !== 'none' || candidates(world, aim, prefers).length > 0,
    run: async (world, real) => {
      const taken =
        aim === undefined
          ? { caller: 'nobody' as const, target: { kind: 'records' as const, id: '' } }
          : take(world, real, aim, prefers);
      aimed = aim === undefined ? '' : ` ${taken.caller} → ${taken.target.kind}/${taken.target.id}`;
      const focus = await act(world, real, taken);
      await compareWorlds(world, real, focus);
    },
    toString: () => `${name}${aimed} ${detail === undefined ? '' : JSON.stringify(detail)}`.trim(),
  };
}

const at = ({ kind, id }: Target, rest: string): string => `/${kind}/${id}${rest}`;
const hasDraft: Fits = ({ draft }) => draft !== undefined;
const isPublished: Fits = ({ published }) => published !== undefined;
const hasLinks: Fits = ({ family }) => family.links.length > 0;
const isOpenedByLink: Fits = ({ family }) =>
  family.links.length > 0 || (family.managedBy?.links.length ?? 0) > 0;
const isWritable: Fits = (item) => item.draft?.files.enabled === true && isUnpublished(item);

/** The entity that an answer shows is the one that the model has. */
function compareAnswer(world: World, { body }: { body: Entity }, { item }: Verdict, form: Form): void {
  if (item === undefined) return;
  if (item.id === '') item.id = body.id;
  if (item.family.parentId === '') item.family.parentId = body.parent.id;
  const { problems: _told, ...expected } = expectedView(world, item, form);
  const { problems: _tells, ...actual } = actualView(body, item.family.kind);
  same(actual, expected, `the answer about ${item.id}`);
}

function compareListing({ body }: { body: FilesListing }, { item }: Verdict): void {
  if (item !== undefined) same(actualFiles(body), expectedFiles(item, 'draft'), `the files of ${item.id}`);
}

/** An operation that takes nothing but an id and answers with the entity. */
function entityStep(
  aims: fc.Arbitrary<Aim>,
  name: string,
  request: { method: string; path: string; form: Form },
  prefers: Fits,
  operate: (world: World, caller: Caller, target: Target) => Verdict,
): fc.Arbitrary<Command> {
  return aims.map((aim) =>
    command({
      name,
      aim,
      prefers,
      act: async (world, real, { caller, target }) => {
        const { method, path, form } = request;
        const verdict = operate(world, caller, target);
        const told = ownProblems(verdict, target);
        const answer = await attempt<Entity>(real, { caller, method, path: at(target, path) }, told);
        compareAnswer(world, answer, verdict, form);
        return target.item;
      },
    }),
  );
}

/** Problems of the entity itself need not name it. */
function ownProblems(verdict: Verdict, { id }: Target): Verdict {
  if (verdict.problems === undefined) return verdict;
  const problems = verdict.problems.map(({ record, ...rest }) =>
    record === undefined || record === id ? rest : { record, ...rest },
  );
  return { ...verdict, problems };
}

const creating = fc
  .record({ kind, caller: often<Caller>(8, 'ada', 'ben', 'nobody'), body: anyBody })
  .map(({ kind, caller, body }) =>
    command({
      name: `create ${kind} as ${caller}`,
      detail: body,
      act: async (world, real) => {
        const verdict = create(world, caller, kind, body);
        const request = { caller, method: 'POST', path: `/${kind}`, sent: { json: body } };
        const answer = await attempt<Entity>(real, request, verdict);
        compareAnswer(world, answer, verdict, 'draft');
        return verdict.item;
      },
    }),
  );

const updating = fc
  .record({
    aim: anyAim,
    body: fc.oneof(anyBody, completeBody),
    saw: often<'nothing' | 'this' | 'older'>(3, 'nothing', 'this', 'older'),
  })
  .map(({ aim, body, saw }) =>
    command({
      name: `update, having seen ${saw}`,
      detail: body,
      aim,
      prefers: hasDraft,
      act: async (world, real, { caller, target }) => {
        const revision = real.lastReads.get(`${target.kind} ${target.id} draft`)?.revision ?? 1;
        const ifMatch = { nothing: undefined, this: `"${revision}"`, older: String(revision - 1) }[saw];
        const headers = ifMatch === undefined ? {} : { 'if-match': ifMatch };
        const verdict = update(caller, target, body, saw !== 'older');
        const path = at(target, '/draft');
        const request = { caller, method: 'PUT', path, sent: { json: body, headers } };
        const answer = await attempt<Entity>(real, request, verdict);
        compareAnswer(world, answer, verdict, 'draft');
        return target.item;
      },
    }),
  );

const DRAFT = { method: 'POST', path: '/draft', form: 'draft' } as const;
const PUBLISH = { method: 'POST', path: '/draft/actions/publish', form: 'published' } as const;
const VERSION = { method: 'POST', path: '/versions', form: 'draft' } as const;
const isReady: Fits = (item) =>
  item.draft !== undefined && [item, ...item.resources].every((one) => publishProblems(one).length === 0);

const publishing = (aims: fc.Arbitrary<Aim>) =>
  entityStep(aims, 'publish', PUBLISH, isReady, (_world, caller, target) => publish(caller, target));
const editing = entityStep(anyAim, 'edit', DRAFT, isPublished, (_world, caller, target) =>
  edit(caller, target),
);
const versioning = (aims: fc.Arbitrary<Aim>) =>
  entityStep(aims, 'new version', VERSION, isPublished, (_world, caller, target) =>
    newVersion(caller, target),
  );
const reserving = entityStep(
  anyAim,
  'reserve a DOI',
  { method: 'POST', path: '/draft/pids/doi', form: 'draft' },
  hasDraft,
  (_world, caller, target) => reserveDoi(caller, target),
);
const discardingDoi = entityStep(
  anyAim,
  'discard the DOI',
  { method: 'DELETE', path: '/draft/pids/doi', form: 'draft' },
  ({ draft }) => draft !== undefined && draft.doi !== 'none',
  (_world, caller, target) => discardDoi(caller, target),
);

const validating = anyAim.map((aim) =>
  command({
    name: 'validate',
    aim,
    prefers: hasDraft,
    act: async (_world, real, { caller, target }) => {
      const verdict = validate(caller, target);
      const request = { caller, method: 'POST', path: at(target, '/draft/actions/validate') };
      const { body } = await attempt<{ errors: Invalid[] }>(real, request, verdict);
      if (verdict.byRecord === undefined) return undefined;
      const told = body.errors.map(({ record, errors }) => [record, sorted(errors)]);
      const expected = verdict.byRecord.map(([record, problems]) => [record, sorted(problems)]);
      same(told.toSorted(), expected.toSorted(), `validating ${target.id}`);
      return undefined;
    },
  }),
);

/** One item of the answer of validation. */
interface Invalid {
  record: string;
  errors: Issue[];
}

const discarding = fc.record({ aim: anyAim, saw: often(3, 'nothing', 'older') }).map(({ aim, saw }) =>
  command({
    name: `discard, having seen ${saw}`,
    aim,
    prefers: hasDraft,
    act: async (world, real, { caller, target }) => {
      const revision = real.lastReads.get(`${target.kind} ${target.id} draft`)?.revision ?? 1;
      const isLate =
        saw === 'older' &&
        caller !== 'nobody' &&
        readDraft(target.item?.family.owner ?? caller, target).status === 200;
      const verdict = isLate ? { status: 412 } : discard(world, caller, target);
      const headers = saw === 'older' ? { 'if-match': String(revision - 1) } : {};
      await attempt(
        real,
        { caller, method: 'DELETE', path: at(target, '/draft'), sent: { headers } },
        verdict,
      );
      return undefined;
    },
  }),
);

// ---- reading

const READS = {
  draft: { path: '/draft', form: 'draft', read: readDraft },
  published: { path: '', form: 'published', read: readPublished },
  latest: { path: '/versions/latest', form: 'published', read: readLatest },
} as const;

const reading = fc
  .record({ aim: anyAim, what: fc.constantFrom('draft', 'published', 'latest') })
  .chain(({ aim, what }) =>
    often<Aim['caller']>(1, 'other', 'nobody', 'owner').map((caller) => ({
      aim: { ...aim, caller },
      what: what as keyof typeof READS,
    })),
  )
  .map(({ aim, what }) =>
    command({
      name: `read ${what}`,
      aim,
      prefers: what === 'draft' ? hasDraft : isPublished,
      act: async (world, real, { caller, target }) => {
        const { path, form, read } = READS[what];
        const verdict = read(caller, target);
        const answer = await attempt<Entity>(
          real,
          { caller, method: 'GET', path: at(target, path) },
          verdict,
        );
        const { item } = verdict;
        if (item === undefined) return undefined;
        if (caller === item.family.owner) compareAnswer(world, answer, verdict, form);
        else compareHidden(answer.body, item);
        return undefined;
      },
    }),
  );

/** Readers do not see the manager of an entity, its drafts, or files they may not read. */
function compareHidden({ id, parent, versions, files }: Entity, item: Item): void {
  const isFilesReader = item.published?.access.files === 'public';
  same(
    {
      id,
      access: parent.access,
      isLatestDraft: versions.is_latest_draft,
      order: files.order,
    },
    {
      id: item.id,
      access: undefined,
      isLatestDraft: undefined,
      order: isFilesReader ? item.published?.files.order : undefined,
    },
    `a reader's ${id}`,
  );
}

const listing = fc.record({ aim: anyAim }).map(({ aim }) =>
  command({
    name: 'read the listings',
    aim: { ...aim, oddity: 'none' },
    act: async (world, real, { caller, target }) => {
      await compareOwnListings(world, real);
      if (target.item === undefined) return undefined;
      await compareVersions(real, target.item, target.item.family.owner);
      if (target.kind === 'packages') await comparePackageListings(world, real, target.item, caller);
      return target.item;
    },
  }),
);

const searching = fc.constant('search for everything').map((name) =>
  command({
    name,
    act: async (world, real) => {
      await compareSearch(world, real, 'nobody');
      return undefined;
    },
  }),
);

// ---- links

const permission = fc.constantFrom<Permission>('view', 'preview', 'edit');

const sharing = fc.record({ aim: anyAim, permission }).map(({ aim, permission }) =>
  command({
    name: `make a ${permission} link`,
    aim,
    act: async (_world, real, { caller, target }) => {
      const verdict = createLink(caller, target, permission);
      const path = at(target, '/access/links');
      const request = { caller, method: 'POST', path, sent: { json: { permission } } };
      const { body } = await attempt<AccessLink>(real, request, verdict);
      if (verdict.link !== undefined) Object.assign(verdict.link, { id: body.id, token: body.token });
      return target.item;
    },
  }),
);

const listingLinks = anyAim.map((aim) =>
  command({
    name: 'list the links',
    aim,
    prefers: hasLinks,
    act: async (_world, real, { caller, target }) => {
      const verdict = listLinks(caller, target);
      const request = { caller, method: 'GET', path: at(target, '/access/links') };
      const { body } = await attempt<Listing<AccessLink>>(real, request, verdict);
      if (verdict.links === undefined) return undefined;
      const told = body.hits.hits.map(({ id, token, permission }) => ({ id, token, permission }));
      same(told, verdict.links, `the links of ${target.id}`);
      return undefined;
    },
  }),
);

const revoking = anyAim.map((aim) =>
  command({
    name: 'revoke the oldest link',
    aim: { ...aim, oddity: 'none' },
    prefers: hasLinks,
    act: async (_world, real, { caller, target }) => {
      const [link] = target.item?.family.links ?? [];
      if (link === undefined) return undefined;
      const verdict = revokeLink(caller, target, link);
      await attempt(
        real,
        { caller, method: 'DELETE', path: at(target, `/access/links/${link.id}`) },
        verdict,
      );
      return target.item;
    },
  }),
);

/**
 * The holder of the newest link of an entity uses it for that entity, for those it manages, or for others.
 */
const visiting = fc
  .record({
    aim: anyAim,
    pick: fc.nat({ max: 99 }),
    what: fc.constantFrom('draft' as const, 'published' as const, 'update' as const),
    body: completeBody,
  })
  .map(({ aim, pick, what, body }) =>
    command({
      name: `use a link to ${what}`,
      detail: what === 'update' ? { pick, body } : { pick },
      aim,
      prefers: isOpenedByLink,
      act: async (world, real, { target }) => {
        const near = target.item === undefined ? [] : linksTo(target.item);
        const all = world.families.flatMap(heldBy);
        const choice = near.length > 0 && pick % 5 > 0 ? near : all;
        const held = choice[pick % Math.max(choice.length, 1)];
        if (held === undefined) return undefined;
        const verdict = VISITS[what](held, target, body);
        const path = at(target, `${what === 'published' ? '' : '/draft'}?token=${held.link.token}`);
        const request =
          what === 'update' ? { method: 'PUT', path, sent: { json: body } } : { method: 'GET', path };
        const answer = await attempt<Entity>(real, { caller: 'nobody', ...request }, verdict);
        if (verdict.item !== undefined) same(answer.body.id, verdict.item.id, `what ${path} shows`);
        return target.item;
      },
    }),
  );

const VISITS = {
  draft: (held: Held, target: Target) => readDraftWith(held, target),
  published: (held: Held, target: Target) => readPublishedWith(held, target),
  update: (held: Held, target: Target, body: Body) => updateWith(held, target, body),
} as const;

const heldBy = (family: Family): Held[] => family.links.map((link) => ({ family, link }));
const linksTo = ({ family }: Item): Held[] =>
  [family, family.managedBy].flatMap((one) => (one ? heldBy(one) : []));

// ---- files

function fileStep(
  name: string,
  request: { method: string; path: (key: string) => string; sent?: (content: string) => object },
  operate: (caller: Caller, target: Target, key: string, content: string) => Verdict,
): fc.Arbitrary<Command> {
  return fc
    .record({
      aim: anyAim,
      pick: fc.nat({ max: 9 }),
      key: fileKey,
      content: fc.constantFrom('', 'a', 'rivers', 'lakes'),
    })
    .map(({ aim, pick, key: anyKey, content }) =>
      command({
        name,
        detail: { anyKey, content },
        aim,
        prefers: (item) => isWritable(item) && item.files.length > 0,
        act: async (_world, real, { caller, target }) => {
          // Mostly a key that is there: pick 9 takes any.
          const files = target.item?.files ?? [];
          const key = pick === 9 ? anyKey : (files[pick % Math.max(files.length, 1)]?.key ?? anyKey);
          const verdict = operate(caller, target, key, content);
          const path = at(target, `/draft/files${request.path(encodeURIComponent(key))}`);
          const sent = request.sent?.(content) ?? {};
          await attempt(real, { caller, method: request.method, path, sent }, verdict);
          return target.item;
        },
      }),
    );
}

const starting = fc
  .record({
    aim: anyAim,
    keys: fc.oneof(fc.uniqueArray(fileKey, { maxLength: 3 }), fc.array(fileKey, { maxLength: 3 })),
  })
  .map(({ aim, keys }) =>
    command({
      name: 'start files',
      detail: keys,
      aim,
      prefers: isWritable,
      act: async (_world, real, { caller, target }) => {
        const verdict = startFiles(caller, target, keys);
        const sent = { json: keys.map((key) => ({ key })) };
        const request = { caller, method: 'POST', path: at(target, '/draft/files'), sent };
        compareListing(await attempt<FilesListing>(real, request, verdict), verdict);
        return target.item;
      },
    }),
  );

/** The three steps of an upload, so that drafts with complete files are common. */
const uploading = fc.record({ aim: anyAim, key: fileKey }).map(({ aim, key }) =>
  command({
    name: 'upload',
    detail: key,
    aim: { ...aim, oddity: 'none', caller: 'owner' },
    prefers: isWritable,
    act: async (_world, real, { caller, target }) => {
      const path = at(target, '/draft/files');
      const file = `${path}/${encodeURIComponent(key)}`;
      await attempt(
        real,
        { caller, method: 'POST', path, sent: { json: [{ key }] } },
        startFiles(caller, target, [key]),
      );
      const content = {
        caller,
        method: 'PUT',
        path: `${file}/content`,
        sent: { bytes: Buffer.from('rivers') },
      };
      await attempt(real, content, putContent(caller, target, key, 'rivers'));
      await attempt(real, { caller, method: 'POST', path: `${file}/commit` }, commit(caller, target, key));
      return target.item;
    },
  }),
);

const contents = fileStep(
  'put content',
  { method: 'PUT', path: (key) => `/${key}/content`, sent: (content) => ({ bytes: Buffer.from(content) }) },
  putContent,
);
const committing = fileStep('commit', { method: 'POST', path: (key) => `/${key}/commit` }, commit);
const deleting = fileStep('delete file', { method: 'DELETE', path: (key) => `/${key}` }, deleteFile);
const clearing = fileStep('delete files', { method: 'DELETE', path: () => '' }, deleteFiles);
const downloading = fileStep(
  'download',
  { method: 'GET', path: (key) => `/${key}/content` },
  (caller, target, key) => download(caller, target, key, 'draft'),
);

/** A next version, with the files that it takes over. */
const continuing = anyAim.map((aim) =>
  command({
    name: 'new version with the files of the last',
    aim: { ...aim, oddity: 'none', caller: 'owner' },
    prefers: (item) => item.published?.files.enabled === true && latestOf(item.family)?.files.length !== 0,
    act: async (world, real, { caller, target }) => {
      const opened = newVersion(caller, target);
      const request = { caller, method: 'POST', path: at(target, '/versions') };
      compareAnswer(world, await attempt<Entity>(real, request, opened), opened, 'draft');
      const { item } = opened;
      if (item === undefined) return undefined;
      const next: Target = { kind: target.kind, id: item.id, item };
      const verdict = importFiles(caller, next);
      const importing = { caller, method: 'POST', path: at(next, '/draft/actions/files-import') };
      compareListing(await attempt<FilesListing>(real, importing, verdict), verdict);
      return item;
    },
  }),
);

const importingFiles = anyAim.map((aim) =>
  command({
    name: 'import files',
    aim,
    prefers: (item) => item.index > 1 && isWritable(item) && item.files.length === 0,
    act: async (_world, real, { caller, target }) => {
      const verdict = importFiles(caller, target);
      const request = { caller, method: 'POST', path: at(target, '/draft/actions/files-import') };
      compareListing(await attempt<FilesListing>(real, request, verdict), verdict);
      return target.item;
    },
  }),
);

// ---- packages and their resources

function relationStep(
  name: string,
  request: { method: string; path: string; list: 'records' | 'resources' },
  prefers: { main: Fits; part: (main: Item | undefined) => Fits },
  operate: (world: World, caller: Caller, target: Target, parts: Target[]) => ListVerdict,
): fc.Arbitrary<Command> {
  const parts = fc.array(resourceAim, { minLength: 1, maxLength: 4 });
  return fc.record({ aim: packageAim, parts }).map(({ aim, parts }) => {
    const step = { name, aim, detail: undefined as unknown, prefers: prefers.main };
    const act: Step['act'] = async (world, real, { caller, target }) => {
      const targets = parts.map((part) => take(world, real, part, prefers.part(target.item)).target);
      const ids = targets.map(({ id }) => ({ id }));
      const verdict = operate(world, caller, target, targets);
      const sent = { json: { [request.list]: ids } };
      const { method } = request;
      const answer = await attempt<{ errors: object[] }>(
        real,
        { caller, method, path: at(target, request.path), sent },
        verdict,
      );
      if (verdict.failed !== undefined)
        same(answer.body, { errors: verdict.failed }, `${name} to ${target.id}`);
      return target.item;
    };
    return command({ ...step, act });
  });
}

const ownedWith =
  (main: Item | undefined): Fits =>
  (item) =>
    item.family.owner === main?.family.owner;
const associating = relationStep(
  'associate',
  { method: 'POST', path: '/context/actions/associate', list: 'records' },
  {
    main: () => true,
    part: (main) => (item) =>
      ownedWith(main)(item) &&
      isUnpublished(item) &&
      (item.family.managedBy === undefined || item.family.managedBy === main?.family),
  },
  (_world, caller, target, parts) => associate(caller, target, parts),
);
const dissociating = relationStep(
  'dissociate',
  { method: 'POST', path: '/context/actions/dissociate', list: 'records' },
  { main: () => true, part: (main) => (item) => item.family.managedBy === main?.family },
  dissociate,
);
const isOpenPackage: Fits = (item) => hasDraft(item) && isUnpublished(item);
const adding = relationStep(
  'add',
  { method: 'POST', path: '/draft/resources', list: 'resources' },
  {
    main: isOpenPackage,
    part: (main) => (item) =>
      item.family.managedBy === main?.family || item.published?.access.record === 'public',
  },
  (_world, caller, target, parts) => addResources(caller, target, parts),
);
const removing = relationStep(
  'remove',
  { method: 'DELETE', path: '/draft/resources', list: 'resources' },
  { main: isOpenPackage, part: (main) => (item) => main?.resources.includes(item) === true },
  (_world, caller, target, parts) => removeResources(caller, target, parts),
);
const importingResources = packageAim.map((aim) =>
  command({
    name: 'import resources',
    aim,
    prefers: (item) => item.index > 1 && isOpenPackage(item),
    act: async (_world, real, { caller, target }) => {
      const verdict = importResources(caller, target);
      const path = at(target, '/draft/actions/resources-import');
      await attempt(real, { caller, method: 'POST', path }, verdict);
      return target.item;
    },
  }),
);

/**
 * The weights make packages with published resources in several versions likely in a run of forty commands.
 */
const WEIGHTED: [number, fc.Arbitrary<Command>][] = [
  [7, creating],
  [6, updating],
  [5, publishing(anyAim)],
  [4, publishing(packageAim)],
  [3, editing],
  [3, versioning(anyAim)],
  [2, versioning(packageAim)],
  [2, validating],
  [2, discarding],
  [1, reserving],
  [1, discardingDoi],
  [2, reading],
  [2, listing],
  [1, searching],
  [2, sharing],
  [1, listingLinks],
  [1, revoking],
  [3, visiting],
  [1, starting],
  [3, uploading],
  [1, contents],
  [1, committing],
  [1, deleting],
  [1, clearing],
  [1, downloading],
  [1, importingFiles],
  [2, continuing],
  [4, associating],
  [1, dissociating],
  [4, adding],
  [1, removing],
  [3, importingResources],
];

/** Commands by weight: the library takes each arbitrary of its list equally often. */
export const COMMANDS: fc.Arbitrary<Command>[] = WEIGHTED.flatMap(([weight, arbitrary]) =>
  Array.from({ length: weight }, () => arbitrary),
);
