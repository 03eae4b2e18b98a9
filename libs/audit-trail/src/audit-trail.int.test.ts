import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { anonymous, type Principal } from '@kr/caller';
import { sqlOn } from '@kr/database';
import { MIGRATIONS as EVENT_BUS, newEvent } from '@kr/event-bus';
import { migrate } from '@kr/schema-migration';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { Pool } from 'pg';
import { appendAudited, auditEntry, findDeletedEntity, MIGRATIONS, readTrail } from './index.ts';

const OWNER: Principal = { ...anonymous('q-1'), userId: '7', tokenId: 't-1' };
const VERSION = { id: 'one', parentId: 'parent' };

let database: FreshDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await freshDatabase();
  await migrate({ databaseUrl: database.url, sets: [EVENT_BUS, MIGRATIONS] });
  pool = new Pool({ connectionString: database.url });
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const sent: string[] = [];
const sql = {
  async $executeRawUnsafe(text: string, ...values: unknown[]) {
    sent.push(text);
    return (await pool.query(text, values)).rowCount ?? 0;
  },
  $queryRawUnsafe: async <Rows>(text: string, ...values: unknown[]) =>
    (await pool.query(text, values)).rows as Rows,
};

const count = async (table: 'audit_entry' | 'outbox') =>
  (await pool.query<{ count: number }>(`select count(*)::int as count from ${table}`)).rows[0]?.count;

describe('an entry', () => {
  test('returns actor, action and time as they were written', async () => {
    const holder = {
      ...anonymous('q-2'),
      grants: [{ linkId: 'l-1', parentId: 'parent', permission: 'edit' as const }],
    };
    await appendAudited(
      sql,
      [],
      [
        auditEntry(OWNER, 'draft.create', VERSION),
        auditEntry(holder, 'file.delete', VERSION, { key: 'quo"te \\ ü.nc' }),
      ],
    );
    const { total, entries = [] } = await readTrail(sql, 'parent', 10);
    expect(total).toBe(2);
    const [last, first] = entries.map(({ actor, action, entityId, metadataJson }) => {
      return { actor, action, entityId, metadata: JSON.parse(String(metadataJson)) };
    });
    expect(first).toEqual({
      action: 'draft.create',
      entityId: 'one',
      actor: { userId: '7', linkIds: [], service: '', tokenId: 't-1', requestId: 'q-1', traceId: '' },
      metadata: {},
    });
    expect(last).toMatchObject({
      action: 'file.delete',
      actor: { userId: '', linkIds: ['l-1'], tokenId: '' },
      metadata: { key: 'quo"te \\ ü.nc' },
    });
    expect(new Set(entries.map(({ id }) => id)).size).toBe(2);
  });

  test('names the links to the entity and to the package that manages it, and no other', async () => {
    const grant = (linkId: string, parentId: string) => ({ linkId, parentId, permission: 'edit' as const });
    const holder = {
      ...anonymous('q-3'),
      grants: [grant('l-own', 'linked'), grant('l-package', 'its package'), grant('l-other', 'other')],
    };
    const entries = [
      auditEntry(holder, 'draft.update', { id: 'one', parentId: 'linked' }),
      auditEntry(holder, 'draft.update', { id: 'one', parentId: 'linked', managedBy: 'its package' }),
      auditEntry(holder, 'draft.update', { id: 'one', parentId: 'nobody', managedBy: null }),
    ];
    expect(entries.map(({ actor }) => actor.linkIds)).toEqual([['l-own'], ['l-own', 'l-package'], []]);
  });

  test('is written in one statement with the events of its change, and is rolled back with its transaction', async () => {
    const event = newEvent(
      'knowledge.records.draft.saved',
      { id: 'one', parentId: 'parent', revision: 1 },
      { aggregateId: 'one', revision: 1 },
    );
    const before = [await count('audit_entry'), await count('outbox')];
    sent.length = 0;
    await appendAudited(sql, [event], [auditEntry(OWNER, 'draft.update', VERSION)]);
    expect(sent).toHaveLength(1);
    expect([await count('audit_entry'), await count('outbox')]).toEqual(before.map((n = 0) => n + 1));

    const client = await pool.connect();
    await client.query('begin');
    await appendAudited(sqlOn(client), [], [auditEntry(OWNER, 'draft.update', VERSION)]);
    await client.query('rollback');
    client.release();
    expect(await count('audit_entry')).toBe((before[0] ?? 0) + 1);
  });

  test.each([
    ["update audit_entry set user_id = 'somebody else'", 'update'],
    ["update audit_entry set action = 'draft.create' where false", 'update'],
    ['delete from audit_entry', 'delete'],
    ['truncate audit_entry', 'truncate'],
  ])('stays: %s is refused', async (statement, word) => {
    const before = await readTrail(sql, 'parent', 10);
    await expect(pool.query(statement)).rejects.toThrow(`the audit trail is append-only: ${word} is refused`);
    expect(await readTrail(sql, 'parent', 10)).toEqual(before);
  });
});

describe('a trail', () => {
  test('is read newest first, up to the limit, and of one parent only', async () => {
    const entries = Array.from({ length: 7 }, (_, n) =>
      auditEntry(OWNER, 'draft.update', { id: 'long', parentId: 'long parent' }, { n }),
    );
    await appendAudited(sql, [], entries);
    const read = async (limit: number) => {
      const { total, entries = [] } = await readTrail(sql, 'long parent', limit);
      return { total, n: entries.map(({ metadataJson }) => JSON.parse(String(metadataJson)).n) };
    };
    expect(await read(3)).toEqual({ total: 7, n: [6, 5, 4] });
    expect(await read(100)).toEqual({ total: 7, n: [6, 5, 4, 3, 2, 1, 0] });
    expect(await readTrail(sql, 'nobody', 5)).toEqual({ total: 0, entries: [] });
  });

  test('names the owner of a deleted entity and nothing of an existing one', async () => {
    const gone = { id: 'gone', parentId: 'gone parent' };
    await appendAudited(sql, [], [auditEntry(OWNER, 'draft.create', gone)]);
    expect(await findDeletedEntity(sql, 'gone')).toBeUndefined();
    await appendAudited(sql, [], [{ ...auditEntry(OWNER, 'draft.delete', gone), ownerId: '7' }]);
    expect(await findDeletedEntity(sql, 'gone')).toEqual({ parentId: 'gone parent', ownerId: '7' });
    await expect(appendAudited(sql, [], [auditEntry(OWNER, 'draft.delete', gone)])).rejects.toThrow(
      'check constraint',
    );
  });
});
