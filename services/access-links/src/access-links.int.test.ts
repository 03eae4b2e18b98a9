import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { anonymous, type Principal, signTicket, type Ticket } from '@kr/caller';
import { type AccessLink__Output, definitions, eventCodecs } from '@kr/contracts';
import { type Client, createClient } from '@kr/rpc';
import type { RunningService } from '@kr/service-host';
import { createLogger } from '@kr/telemetry';
import { type FreshDatabase, freshDatabase, startNats, type TestNats, until } from '@kr/testbed';
import { Pool } from 'pg';
import { type AccessLinksConfig, readConfig } from './config.ts';
import { startAccessLinksService } from './service.ts';

const GATEWAY_KEY = 'gateway-key-'.padEnd(32, 'i');
const TICKET_KEY = 'ticket-key-'.padEnd(32, 't');
const TOKEN_KEY = 'link-token-key-'.padEnd(32, 'l');
const caller = anonymous('q-1');

let nats: TestNats;
let database: FreshDatabase;
let pool: Pool;
let service: RunningService;
let client: Client<typeof definitions.accessLinks>;
let now: Date;

const configure = (changes: Partial<AccessLinksConfig> = {}): AccessLinksConfig => ({
  ...readConfig({
    DATABASE_URL: database.url,
    NATS_URL: nats.url,
    CALLER_KEYS: `gateway=${GATEWAY_KEY},records=${GATEWAY_KEY}`,
    ACCESS_LINKS_TICKET_KEY: TICKET_KEY,
    LINK_TOKEN_KEY: TOKEN_KEY,
  }),
  ...changes,
});

async function start(changes: Partial<AccessLinksConfig> = {}): Promise<void> {
  service = await startAccessLinksService(configure(changes), createLogger('test'), () => now);
  const address = `127.0.0.1:${service.grpcPort}`;
  client = createClient(definitions.accessLinks, {
    address,
    audience: 'access-links',
    caller: 'gateway',
    key: GATEWAY_KEY,
    defaultTimeoutMs: 60_000,
  });
}

async function stop(): Promise<void> {
  client.close();
  await service.stop();
}

beforeAll(async () => {
  nats = await startNats();
  database = await freshDatabase();
  pool = new Pool({ connectionString: database.url });
  pool.on('error', () => {});
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
  await nats?.stop();
});

beforeEach(async () => {
  now = new Date('2026-11-21T12:00:00.250Z');
  await start();
});

afterEach(async () => {
  await stop();
  await pool.query('truncate access_link, outbox');
});

function ticketFor(parentId: string, changes: Partial<Ticket> = {}, key = TICKET_KEY): string {
  const ticket: Ticket = {
    audience: 'access-links',
    entityId: 'entity',
    parentId,
    form: 'draft',
    actions: ['manage_links'],
    sourceEntityId: null,
    userId: '7',
    expiresAt: now.getTime() + 60_000,
    ...changes,
  };
  return signTicket(ticket, key);
}

const NO_KEY = Buffer.alloc(0);
const json = (body: unknown) => Buffer.from(JSON.stringify(body));

async function create(parentId: string, body: unknown, creationKey = NO_KEY): Promise<AccessLink__Output> {
  const request = { ticket: ticketFor(parentId), body: json(body), creationKey };
  const { link } = await client.createLink(request, caller);
  if (link === null) throw new Error('no link');
  return link;
}

async function change(parentId: string, linkId: string, body: unknown) {
  return (await client.changeLink({ ticket: ticketFor(parentId), linkId, body: json(body) }, caller)).link;
}

async function list(parentId: string) {
  return (await client.listLinks({ ticket: ticketFor(parentId) }, caller)).links;
}

async function listAsRecords(parentIds: string[]) {
  const records = createClient(definitions.accessLinks, {
    address: `127.0.0.1:${service.grpcPort}`,
    audience: 'access-links',
    caller: 'records',
    key: GATEWAY_KEY,
    defaultTimeoutMs: 60_000,
  });
  try {
    return (await records.listParentLinks({ parentIds }, caller)).links;
  } finally {
    records.close();
  }
}

async function opened(...tokens: string[]) {
  return (await client.resolveTokens({ tokens }, caller)).grants;
}

async function failure(call: Promise<unknown>) {
  return call.then(
    () => 'no failure',
    ({ kind, message, issues }) => ({ kind, message, issues }),
  );
}

const missing = { kind: 'not_found', message: 'No secret link found with the given ID.', issues: [] };
const invalid = (field: string, message: string) => ({
  kind: 'invalid',
  message: 'A validation error occurred.',
  issues: [{ field, messages: [message] }],
});

async function events() {
  const { rows } = await pool.query('select subject, aggregate_id, payload from outbox order by id');
  return rows.map(({ subject, aggregate_id, payload }) => ({
    subject,
    aggregateId: aggregate_id,
    ...eventCodecs['knowledge.access-links.link.created'].decode(payload),
  }));
}

describe('access links', () => {
  test('are made, listed in order, read, changed and ended', async () => {
    const first = await create('parent', { permission: 'view' });
    now = new Date('2026-11-21T12:00:01Z');
    const second = await create('parent', { permission: 'edit', expires_at: '2030-01-01T00:00:00+02:00' });
    expect(first).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      permission: 'view',
      createdAt: { seconds: String(Date.parse('2026-11-21T12:00:00Z') / 1_000), nanos: 250_000_000 },
      expiresAt: null,
      token: expect.stringMatching(/^kl1_/),
    });
    expect(second.expiresAt).toEqual({
      seconds: String(Date.parse('2029-12-31T22:00:00Z') / 1_000),
      nanos: 0,
    });
    expect(await list('parent')).toEqual([first, second]);
    expect((await client.readLink({ ticket: ticketFor('parent'), linkId: first.id }, caller)).link).toEqual(
      first,
    );

    const changed = await change('parent', first.id, {
      permission: 'preview',
      expires_at: '2027-01-01T00:00:00',
    });
    const expiresAt = { seconds: String(Date.parse('2027-01-01T00:00:00Z') / 1_000), nanos: 0 };
    expect(changed).toEqual({ ...first, permission: 'preview', expiresAt });

    expect(await client.revokeLink({ ticket: ticketFor('parent'), linkId: first.id }, caller)).toEqual({});
    expect(await list('parent')).toEqual([second]);
    const again = { ticket: ticketFor('parent'), linkId: first.id };
    expect([
      await failure(client.readLink(again, caller)),
      await failure(client.revokeLink(again, caller)),
      await failure(change('parent', first.id, { permission: 'view' })),
    ]).toEqual([missing, missing, missing]);
  });

  test('are made once for a creation that is repeated, until they are revoked or a day has passed', async () => {
    const key = Buffer.alloc(32, 'k');
    const make = () => create('parent', { permission: 'view' }, key);
    const made = await Promise.all(Array.from({ length: 8 }, make));
    const [first] = made;
    if (first === undefined) throw new Error('none was made');
    expect([new Set(made.map(({ id }) => id)).size, await list('parent'), (await events()).length]).toEqual([
      1,
      [first],
      1,
    ]);

    await client.revokeLink({ ticket: ticketFor('parent'), linkId: first.id }, caller);
    const second = await make();
    now = new Date(now.getTime() + 86_400_000);
    const third = await make();
    expect(new Set([first.id, second.id, third.id]).size).toBe(3);
    expect(await make()).toEqual(third);
  });

  test('are limited in number per entity, also when they are created at the same time', async () => {
    await stop();
    await start({ maxLinksPerEntity: 3 });
    const key = Buffer.alloc(32, 5);
    const first = await create('parent', { permission: 'view' }, key);
    const others = await Promise.allSettled(
      Array.from({ length: 8 }, () => create('parent', { permission: 'view' })),
    );
    const refused = others.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(refused.map(({ kind, code, message }) => ({ kind, code, message }))).toEqual(
      Array(6).fill({
        kind: 'invalid',
        code: 'too_many_links',
        message: 'An entity may have at most 3 access links; revoke one.',
      }),
    );
    const listed = await list('parent');
    expect([listed.length, (await events()).length]).toEqual([3, 3]);
    expect((await create('parent', { permission: 'view' }, key)).id).toBe(first.id);
    expect((await create('another', { permission: 'view' })).permission).toBe('view');
    await client.revokeLink({ ticket: ticketFor('parent'), linkId: first.id }, caller);
    expect((await create('parent', { permission: 'edit' })).permission).toBe('edit');
  });

  test('that have expired make room for others', async () => {
    await stop();
    await start({ maxLinksPerEntity: 2 });
    const expires = new Date(now.getTime() + 60_000).toISOString();
    for (let times = 0; times < 2; times += 1) {
      await create('parent', { permission: 'view', expires_at: expires });
    }
    await expect(create('parent', { permission: 'view' })).rejects.toMatchObject({ code: 'too_many_links' });
    now = new Date(now.getTime() + 60_000);
    expect((await create('parent', { permission: 'edit' })).permission).toBe('edit');
    expect((await create('parent', { permission: 'edit' })).permission).toBe('edit');
    await expect(create('parent', { permission: 'view' })).rejects.toMatchObject({ code: 'too_many_links' });
  });

  test('are returned without their token', async () => {
    const { id, token } = await create('parent', { permission: 'view' });
    await change('parent', id, { permission: 'edit' });
    await client.revokeLink({ ticket: ticketFor('parent'), linkId: id }, caller);
    const told = await events();
    expect(told).toEqual(
      (
        [
          ['created', 'view'],
          ['changed', 'edit'],
          ['revoked', 'edit'],
        ] as const
      ).map(([verb, permission], n) => ({
        subject: `knowledge.access-links.link.${verb}`,
        aggregateId: id,
        id,
        parentId: 'parent',
        revision: String(n + 1),
        permission,
      })),
    );
    expect(JSON.stringify(told)).not.toContain(token.slice(-43));
    await until(
      async () => (await pool.query('select 1 from outbox where published_at is null')).rowCount === 0,
    );
  });

  test('open with the current permission of their token', async () => {
    const link = await create('parent', { permission: 'view', expires_at: '2026-11-21T13:00:00' });
    const grant = { linkId: link.id, parentId: 'parent', permission: 'view' };
    expect(await opened(link.token)).toEqual([grant]);

    await change('parent', link.id, { permission: 'edit' });
    expect(await opened(link.token)).toEqual([{ ...grant, permission: 'edit' }]);

    now = new Date('2026-11-21T12:59:59.999Z');
    expect(await opened(link.token)).toHaveLength(1);
    now = new Date('2026-11-21T13:00:00Z');
    expect(await opened(link.token)).toEqual([]);
    expect(await list('parent')).toHaveLength(1);
    expect(
      await failure(change('parent', link.id, { permission: 'view', expires_at: '2026-11-21T14:00:00' })),
    ).toEqual(invalid('expires_at', 'Cannot postpone expiration of links'));
  });

  test('open nothing from the moment they are ended', async () => {
    const link = await create('parent', { permission: 'edit' });
    const other = await create('parent', { permission: 'view' });
    await client.revokeLink({ ticket: ticketFor('parent'), linkId: link.id }, caller);
    expect((await opened(link.token, other.token)).map(({ linkId }) => linkId)).toEqual([other.id]);
  });

  test('are resolved many at once, the wrong ones left out', async () => {
    const a = await create('a', { permission: 'view' });
    const b = await create('b', { permission: 'edit' });
    const swapped = a.token.slice(0, 26) + b.token.slice(26);
    const grants = await opened(
      '',
      'garbage',
      a.token,
      swapped,
      `${a.token}x`,
      `kl1_${'A'.repeat(75)}`,
      b.token,
      a.token,
    );
    expect(grants.map(({ parentId }) => parentId)).toEqual(['a', 'b', 'a']);
    expect(await opened()).toEqual([]);
    expect(await failure(opened(...Array(101).fill('x')))).toMatchObject({ kind: 'invalid' });
  });

  test('of another parent do not exist', async () => {
    const { id, token } = await create('mine', { permission: 'view' });
    const foreign = { ticket: ticketFor('theirs'), linkId: id };
    expect([
      await failure(client.readLink(foreign, caller)),
      await failure(client.revokeLink(foreign, caller)),
      await failure(change('theirs', id, { permission: 'edit' })),
      await list('theirs'),
    ]).toEqual([missing, missing, missing, []]);
    expect(await opened(token)).toEqual([{ linkId: id, parentId: 'mine', permission: 'view' }]);
  });

  test.each(['00000000-0000-4000-8000-000000000000', 'x', '', "' or true --", '../'])(
    'do not exist by the id %j',
    async (linkId) => {
      const unknown = { ticket: ticketFor('parent'), linkId };
      expect([
        await failure(client.readLink(unknown, caller)),
        await failure(client.revokeLink(unknown, caller)),
        await failure(change('parent', linkId, {})),
      ]).toEqual([missing, missing, missing]);
    },
  );

  test.each<[string, () => string, unknown]>([
    ['none', () => '', { kind: 'unauthenticated' }],
    ['garbage', () => 'ticket', { kind: 'unauthenticated' }],
    ['another key', () => ticketFor('parent', {}, 'wrong-key'.padEnd(32, 'w')), { kind: 'unauthenticated' }],
    ['another service', () => ticketFor('parent', { audience: 'files' }), { kind: 'unauthenticated' }],
    ['an old one', () => ticketFor('parent', { expiresAt: now.getTime() }), { kind: 'unauthenticated' }],
    [
      'another action',
      () => ticketFor('parent', { actions: ['read_draft', 'write_files'] }),
      { kind: 'forbidden' },
    ],
  ])('are not shown or touched with a wrong ticket: %s', async (_, makeTicket, refusal) => {
    const { id } = await create('parent', { permission: 'view' });
    const ticket = makeTicket();
    const body = json({ permission: 'edit' });
    const outcomes = [
      await failure(client.createLink({ ticket, body, creationKey: NO_KEY }, caller)),
      await failure(client.listLinks({ ticket }, caller)),
      await failure(client.readLink({ ticket, linkId: id }, caller)),
      await failure(client.changeLink({ ticket, linkId: id, body }, caller)),
      await failure(client.revokeLink({ ticket, linkId: id }, caller)),
    ];
    expect(outcomes).toEqual(Array(5).fill(expect.objectContaining(refusal as object)));
    expect((await list('parent')).map(({ permission }) => permission)).toEqual(['view']);
  });

  test.each<[string, Buffer, unknown]>([
    ['nothing', Buffer.alloc(0), invalid('_schema', 'Invalid input type.')],
    ['a list', json([]), invalid('_schema', 'Invalid input type.')],
    ['null', json(null), invalid('_schema', 'Invalid input type.')],
    [
      'no JSON',
      Buffer.from('{'),
      { kind: 'invalid', message: 'Unable to decode JSON data in request body.', issues: [] },
    ],
    [
      'an unknown permission',
      json({ permission: 'own' }),
      invalid('permission', 'Must be one of: view, preview, edit.'),
    ],
    ['an unknown field', json({ permission: 'view', token: 'x' }), invalid('token', 'Unknown field.')],
    [
      'an expiry that has passed',
      json({ permission: 'view', expires_at: '2026-11-21T12:00:00' }),
      invalid('expires_at', 'Expiration date must be set to the future'),
    ],
  ])('are not made from a body that is %s', async (_, body, refusal) => {
    expect(
      await failure(client.createLink({ ticket: ticketFor('parent'), body, creationKey: NO_KEY }, caller)),
    ).toEqual(refusal);
    expect([await list('parent'), await events()]).toEqual([[], []]);
  });

  test('keep one order of events when they are changed at the same moment', async () => {
    const { id } = await create('parent', { permission: 'view' });
    const permissions = ['view', 'preview', 'edit', 'view', 'preview', 'edit', 'view', 'edit'];
    await Promise.all(permissions.map((permission) => change('parent', id, { permission })));
    const told = await events();
    // A change without effect publishes no event.
    expect(told.length).toBeGreaterThanOrEqual(3);
    expect(told.map(({ revision }) => Number(revision))).toEqual(told.map((_, index) => index + 1));
    expect(told.filter(({ permission }, index) => permission === told[index - 1]?.permission)).toEqual([]);
    expect((await list('parent'))[0]?.permission).toBe(told.at(-1)?.permission);
  });

  test('cannot be opened with the contents of the database', async () => {
    const { id, token } = await create('parent', { permission: 'view' });
    const { rows: tables } = await pool.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public'`,
    );
    const dump = await Promise.all(
      tables.map(async ({ name }) => (await pool.query(`select t::text from "${name}" t`)).rows),
    );
    const text = JSON.stringify(dump);
    expect(text).toContain(id);
    const mac = token.slice(-43);
    for (const secret of [token, mac, Buffer.from(mac, 'base64url').toString('hex'), TOKEN_KEY]) {
      expect(text).not.toContain(secret);
    }
  });

  test('outlive a restart, and the replacement of the key while the old one is still named', async () => {
    const link = await create('parent', { permission: 'view' });
    await stop();
    await start({ linkTokenKey: 'new-key-'.padEnd(32, 'n'), previousLinkTokenKeys: [TOKEN_KEY] });
    expect(await list('parent')).toEqual([link]);
    expect(await opened(link.token)).toHaveLength(1);
    const newer = await create('parent', { permission: 'view' });
    expect(await opened(newer.token)).toHaveLength(1);

    await stop();
    await start({ linkTokenKey: 'new-key-'.padEnd(32, 'n') });
    expect((await opened(link.token, newer.token)).map(({ linkId }) => linkId)).toEqual([newer.id]);
    expect(await list('parent')).toEqual([{ ...link, token: '' }, newer]);
  });

  test('are managed while the bus is away', async () => {
    await stop();
    await start({ natsUrl: new URL('nats://127.0.0.1:1') });
    const { token } = await create('parent', { permission: 'view' });
    expect(await opened(token)).toHaveLength(1);
    const ready = await fetch(`http://127.0.0.1:${service.healthPort}/readyz`);
    expect({ status: ready.status, body: await ready.json() }).toEqual({
      status: 200,
      body: { status: 'ok', checks: { database: 'ok', bus: 'failed' } },
    });
  });
});

describe('the trail of a parent', () => {
  const author: Principal = { ...anonymous('q-2'), userId: '7', tokenId: 't-1' };
  const ticketTo = (parentId: string, action: string) => ticketFor(parentId, { actions: [action] });
  const trailOf = async (parentId: string) => {
    const ticket = ticketTo(parentId, 'read_audit_log');
    return (await client.readLinkTrail({ ticket, limit: 100 }, caller)).trail?.entries ?? [];
  };

  test('has each link that was made, changed and revoked, once and without its token', async () => {
    const ticket = ticketFor('trail');
    const creationKey = Buffer.alloc(32, 3);
    const body = json({ permission: 'view', expires_at: '2030-01-01T00:00:00Z' });
    const { link } = await client.createLink({ ticket, body, creationKey }, author);
    await client.createLink({ ticket, body, creationKey }, author);
    const linkId = link?.id ?? '';
    const edit = { ticket, linkId, body: json({ permission: 'edit' }) };
    const { link: changed } = await client.changeLink(edit, author);
    expect((await client.changeLink(edit, author)).link).toEqual(changed);
    const nearer = { ...edit, body: json({ permission: 'edit', expires_at: '2029-01-01T00:00:00Z' }) };
    await client.changeLink(nearer, author);
    await client.changeLink(nearer, author);
    await failure(client.changeLink({ ticket, linkId, body: json({ permission: 'all' }) }, author));
    await client.revokeLink({ ticket, linkId }, author);
    await failure(client.revokeLink({ ticket, linkId }, author));
    const trail = await trailOf('trail');
    const told = trail.map(({ action, entityId, actor, metadataJson }) => {
      return [action, entityId, actor?.userId, actor?.tokenId, JSON.parse(String(metadataJson))];
    });
    const by = ['entity', '7', 't-1'];
    const of = (permission: string, year = 2030) => {
      return { link: linkId, permission, expires_at: `${year}-01-01T00:00:00.000Z` };
    };
    expect(told).toEqual([
      ['link.revoke', ...by, of('edit', 2029)],
      ['link.update', ...by, of('edit', 2029)],
      ['link.update', ...by, of('edit')],
      ['link.create', ...by, of('view')],
    ]);
    expect(JSON.stringify(told)).not.toContain(link?.token);
  });

  test('is read with a ticket for it alone, which permits no other action', async () => {
    const forbidden = { kind: 'forbidden', message: 'Permission denied.', issues: [] };
    const managing = ticketTo('trail', 'manage_links');
    expect(await failure(client.readLinkTrail({ ticket: managing, limit: 1 }, caller))).toEqual(forbidden);
    const reading = ticketTo('trail', 'read_audit_log');
    expect(await failure(client.listLinks({ ticket: reading }, caller))).toEqual(forbidden);
  });
});

describe('the links of several parents', () => {
  test('lists the links that are not revoked, without tokens, to the services of the parents only', async () => {
    const [a1, a2, b1] = [
      await create('a', { permission: 'view' }),
      await create('a', { permission: 'edit' }),
      await create('b', { permission: 'view' }),
    ];
    await create('c', { permission: 'view' });
    await change('a', a2.id, { permission: 'view' });
    await client.revokeLink({ ticket: ticketFor('b'), linkId: b1.id }, caller);
    expect(await listAsRecords(['a', 'b', 'unknown'])).toEqual([
      { id: a1.id, parentId: 'a', revision: '1' },
      { id: a2.id, parentId: 'a', revision: '2' },
    ]);
    expect(await listAsRecords([])).toEqual([]);
    const many = Array.from({ length: 101 }, String);
    await expect(listAsRecords(many)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(client.listParentLinks({ parentIds: ['a'] }, caller)).rejects.toMatchObject({
      kind: 'forbidden',
    });
  });
});
