import { MIGRATIONS as AUDIT_TRAIL } from '@kr/audit-trail';
import { type Principal, SCOPES, servicePrincipal } from '@kr/caller';
import type { EntityDocument, PreparePublicationRequest__Output } from '@kr/contracts';
import { openDatabase, type Sql, type SqlDatabase } from '@kr/database';
import { MIGRATIONS as EVENT_BUS, newEvent } from '@kr/event-bus';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import type { CallContext } from '@kr/rpc';
import { migrate } from '@kr/schema-migration';
import { createLogger } from '@kr/telemetry';
import { freshDatabase } from '@kr/testbed';
import { PrismaPg } from '@prisma/adapter-pg';
import type { Decision } from './context/context.ts';
import { PrismaClient } from './gen/prisma/client.ts';
import { lifecycleContext, lifecycleHandlers } from './lifecycle.ts';
import type { FileCounts } from './model/files.ts';
import { newEntityId } from './model/ids.ts';
import { type EntityKind, entityEvents } from './model/kind.ts';
import { preparePublication } from './publication/prepare.ts';
import { MIGRATIONS, sqlLifecycleStore } from './store/lifecycle-store.ts';

/** A kind with nothing special, so that what is seen is the lifecycle's. */
const RECORD: EntityKind = {
  name: 'record',
  parentType: 'resource',
  fieldsResetOnNewVersion: ['publication_date', 'version'],
  isEditDraftPublished: false,
  showsManagement: true,
  relationKey: 'packages',
  extraFields: {},
  related: 'select null::text[] as of_draft, null::text[] as of_published',
  events: {
    ...entityEvents('record'),
    published: ({ id, parentId, revision }, { id: publicationId, packageId }) =>
      newEvent(
        'knowledge.records.record.published',
        { id, parentId, revision, publicationId, packageId },
        { aggregateId: id, revision },
      ),
  },
  hooks: {},
};

export const OWNER: Principal = {
  userId: 'owner',
  isAdmin: false,
  scopes: SCOPES,
  grants: [],
  service: null,
  requestId: 'q',
};
export const STRANGER: Principal = { ...OWNER, userId: 'stranger' };
export const ANONYMOUS: Principal = { ...OWNER, userId: null };
export const COORDINATOR = servicePrincipal('packages');

export function callOf(principal: Principal): CallContext {
  return {
    principal,
    signal: new AbortController().signal,
    deadline: new Date(Date.now() + 5_000),
    method: 'test',
  };
}

export const GOOD_METADATA = {
  title: 'Flood map',
  publication_date: '2024-03-01',
  resource_type: { id: 'image-photo' },
  creators: [{ person_or_org: { type: 'personal', family_name: 'Carberry', given_name: 'Josiah' } }],
};
export const GOOD_BODY = { files: { enabled: false }, metadata: GOOD_METADATA };

/** About five of the drafts that tests make. */
export const PART_BYTES = 2_000;

export type LifecycleFixture = Awaited<ReturnType<typeof lifecycleFixture>>;

/** The lifecycle of records on a separate database, with maps as the other services. */
export async function lifecycleFixture() {
  const database = await freshDatabase();
  await migrate({ databaseUrl: database.url, sets: [EVENT_BUS, AUDIT_TRAIL, MIGRATIONS] });
  const prisma = new PrismaClient({
    adapter: new PrismaPg({ connectionString: database.url, max: 8 }),
    // Many at once may wait for a connection as long as a busy machine takes.
    transactionOptions: { maxWait: 60_000 },
  });
  const statements: string[] = [];
  const sql = openDatabase(new URL(database.url));

  const counts = new Map<string, FileCounts>();
  const decisions = new Map<string, Decision>();
  const world = {
    isCoordinatorUp: true,
    questions: 0,
    elsewhere: new Set<string>(),
    now: new Date(FIRST_INSTANT),
  };
  const limits = { maxDrafts: 1_000, maxMetadataBytes: 1_000_000_000 };
  const context = lifecycleContext({
    kind: RECORD,
    database: recording(sql, statements),
    store: sqlLifecycleStore,
    now: () => world.now,
    newId: newEntityId,
    vocabularies: RELEASED_VOCABULARIES,
    doiPrefix: '10.5072',
    oaiPrefix: 'repository.test',
    ticketKeys: { files: 'f'.repeat(32), 'access-links': 'a'.repeat(32) },
    describeBuckets: async (ids) => new Map(ids.flatMap((id) => entry(id, counts.get(id)))),
    resolvePublications: async (ids) => {
      world.questions += 1;
      if (!world.isCoordinatorUp) throw new Error('the coordinator is not there');
      return new Map(ids.map((id) => [id, decisions.get(id) ?? 'aborted']));
    },
    findDoisOfOtherKind: async (dois) => new Set(dois.filter((doi) => world.elsewhere.has(doi))),
    findIdsOfOtherKind: async (ids) => new Set(ids.filter((id) => world.elsewhere.has(id))),
    ownerLimits: limits,
    wakeRelay: () => undefined,
    waitUntilRelayed: async () => true,
    logger: createLogger('test', { write: () => undefined }),
  });
  const handlers = lifecycleHandlers(context);
  const as = (principal: Principal) => callOf(principal);

  return {
    as,
    context,
    handlers,
    prisma,
    world,
    limits,
    counts,
    decisions,
    /** The statements sent while something ran. */
    async statementsOf(run: () => Promise<unknown>): Promise<string[]> {
      statements.length = 0;
      await run();
      return [...statements];
    },
    async create(body: unknown = GOOD_BODY, principal = OWNER, creationKey = NO_KEY): Promise<Shown> {
      return shown(await handlers.CreateDraft({ body: bytes(body), creationKey }, as(principal)));
    },
    async update(id: string, body: unknown, ifRevision = 0, principal = OWNER): Promise<Shown> {
      const request = { id, body: bytes(body), ifRevision: String(ifRevision) };
      return shown(await handlers.UpdateDraft(request, as(principal)));
    },
    async read(id: string, form: 'draft' | 'published', principal = OWNER): Promise<Shown | string> {
      const ref = { id, form: form === 'draft' ? 'FORM_DRAFT' : 'FORM_PUBLISHED' } as const;
      const { results } = await handlers.ReadEntities({ refs: [ref] }, as(principal));
      const [result] = results ?? [];
      return result?.error
        ? `${result.error.kind}: ${result.error.message}`
        : shown({ document: result?.document });
    },
    async prepare(
      ids: string[],
      publicationId: string,
      more: Partial<PreparePublicationRequest__Output> = {},
    ) {
      const request = {
        publicationId,
        epoch: 1,
        packageId: '',
        packageParentId: '',
        ids,
        manifests: [],
        ifRevision: '0',
        actor: null,
        inParts: false,
        ...more,
      };
      return preparePublication(context, PART_BYTES)(request, as(COORDINATOR));
    },
    /** Publishes as the coordinator would, with nothing going wrong. */
    async publish(id: string): Promise<void> {
      const publicationId = `publication of ${id} at ${newEntityId()}`;
      const vote = await this.prepare([id], publicationId);
      if (vote.isPrepared !== true) throw new Error(JSON.stringify(vote.issues));
      decisions.set(publicationId, 'committed');
      await context.publications.resolve([publicationId]);
    },
    /** The trail of an entity's parent, oldest first. */
    async trail(parentId: string): Promise<TrailRow[]> {
      return prisma.$queryRawUnsafe(
        `select action, entity_id, user_id, link_ids, service, metadata from audit_entry where parent_id = $1
         order by position`,
        parentId,
      );
    },
    async events(): Promise<{ subject: string; aggregate_id: string; revision: number }[]> {
      return prisma.$queryRawUnsafe(
        'select subject, aggregate_id, revision::int as revision from outbox order by id',
      );
    },
    async close(): Promise<void> {
      await prisma.$disconnect();
      await sql.close();
      await database.drop();
    },
  };
}

/** The database with a list of the statements that were sent to it. */
function recording(database: SqlDatabase, statements: string[]): SqlDatabase {
  const each = (sql: Sql): Sql => ({
    $queryRawUnsafe: (text, ...values) => {
      statements.push(text);
      return sql.$queryRawUnsafe(text, ...values);
    },
    $executeRawUnsafe: (text, ...values) => {
      statements.push(text);
      return sql.$executeRawUnsafe(text, ...values);
    },
  });
  return {
    ...each(database),
    $transaction: (run, options) => database.$transaction((tx) => run(each(tx)), options),
  };
}

export interface TrailRow {
  action: string;
  entity_id: string;
  user_id: string | null;
  link_ids: string[];
  service: string | null;
  metadata: Record<string, unknown>;
}

const NO_KEY = Buffer.alloc(0);
const FIRST_INSTANT = '2026-01-01T00:00:00.000Z';

export interface Shown {
  id: string;
  parentId: string;
  revision: number;
  isPublic: boolean;
  doi: string;
  variant: string;
  json: Readonly<Record<string, unknown>>;
}

function shown({ document }: { document?: EntityDocument | null | undefined }): Shown {
  if (document == null) throw new Error('no document');
  return {
    id: document.id ?? '',
    parentId: document.parentId ?? '',
    revision: Number(document.revision),
    isPublic: document.isPublic ?? false,
    doi: document.doi ?? '',
    variant: document.variant ?? '',
    json: JSON.parse(Buffer.from(document.json ?? '').toString('utf8')),
  };
}

function bytes(body: unknown): Buffer {
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function entry(id: string, counts: FileCounts | undefined): [string, FileCounts][] {
  return counts === undefined ? [] : [[id, counts]];
}
