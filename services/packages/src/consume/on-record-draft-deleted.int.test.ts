import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readTrail } from '@kr/audit-trail';
import { openDatabase } from '@kr/database';
import { appendEvents, connectBus, MIGRATIONS, newEvent, startRelay } from '@kr/event-bus';
import { migrate } from '@kr/schema-migration';
import { createLogger } from '@kr/telemetry';
import { freshDatabase, until } from '@kr/testbed';
import {
  aPackageWith,
  OWNER,
  type PackagesFixture,
  packagesFixture,
  type Replica,
} from '../testing/packages-fixture.ts';

let fixture: PackagesFixture;
let service: Replica;

beforeAll(async () => {
  fixture = await packagesFixture();
  service = await fixture.start();
});
afterAll(() => fixture.stop());

test('a resource that is gone leaves the drafts that hold it; one with a published form stays', async () => {
  const { id, parentId } = await aPackageWith(fixture, service, ['kept', 'edited', 'gone']);
  const logger = createLogger('records');
  const records = await freshDatabase();
  await migrate({ databaseUrl: records.url, sets: [MIGRATIONS] });
  const database = openDatabase(new URL(records.url));
  const bus = connectBus({ servers: fixture.natsUrl, name: 'records', logger });
  const relay = startRelay({ databaseUrl: records.url, natsConnection: bus, source: 'records', logger });

  const deleted = (record: string, isPublished: boolean) =>
    newEvent(
      'knowledge.records.draft.deleted',
      { id: record, parentId: `parent-${record}`, revision: 1, isPublished, packageIds: [] },
      { aggregateId: record, revision: 1 },
    );
  const event = deleted('gone', false);
  await appendEvents(database, [deleted('edited', true), event]);
  relay.nudge();
  const held = async () => (await service.packages.listResources({ packageId: id }, OWNER)).ids;
  await until(async () => (await held()).length === 2);
  expect(await held()).toEqual(['kept', 'edited']);
  const { entries } = await readTrail(fixture.database, parentId, 1);
  expect(entries).toMatchObject([
    { action: 'resources.remove', actor: { service: 'packages', requestId: event.eventId } },
  ]);

  await relay.stop();
  await bus.close();
  await database.close();
  await records.drop();
});
