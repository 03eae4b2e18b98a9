import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { aPackageWith, OWNER, type PackagesFixture, packagesFixture } from '../testing/packages-fixture.ts';

let fixture: PackagesFixture;
beforeAll(async () => {
  fixture = await packagesFixture();
});
afterAll(() => fixture.stop());

const CONSUMERS = ['packages-drop-deleted-records', 'packages-clear-deleted-previews'];

test('a service that finds that it lost events makes up for them', async () => {
  const before = await fixture.start();
  const { id } = await aPackageWith(fixture, before, ['kept', 'gone']);
  const body = {
    access: { record: 'public', files: 'public' },
    files: { enabled: true, default_preview: 'gone.png' },
    metadata: { title: 'With a preview' },
  };
  const { document } = await before.lifecycle.createDraft({ body: Buffer.from(JSON.stringify(body)) }, OWNER);
  const noted = async () =>
    await fixture.database.$queryRaw<{ consumer: string }[]>`
      select consumer from consumer_position where consumer = any(${CONSUMERS})`;
  await until(async () => (await noted()).length === CONSUMERS.length);
  await before.stop();

  // A resource was deleted, and a file.
  fixture.peers.records.delete('gone');
  await fixture.database.$executeRaw`
    update consumer_position set lost_at = now() where consumer = any(${CONSUMERS})`;
  const after = await fixture.start();
  const held = async () => (await after.packages.listResources({ packageId: id }, OWNER)).ids;
  const preview = async () => {
    const ref = { id: document?.id ?? '', form: 'FORM_DRAFT' } as const;
    const { results } = await after.lifecycle.readEntities({ refs: [ref] }, OWNER);
    return JSON.parse(String(results[0]?.document?.json)).files.default_preview;
  };
  const lost = async () =>
    (await fixture.database.$queryRaw<unknown[]>`select 1 from consumer_position where lost_at is not null`)
      .length;
  await until(async () => (await lost()) === 0);
  expect({ held: await held(), preview: await preview() }).toEqual({
    held: ['kept'],
    preview: undefined,
  });
});
