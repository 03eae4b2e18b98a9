import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { anonymous, type Principal } from '@kr/caller';
import { type FilesUnderTest, GATEWAY, refusalOf, startFilesUnderTest } from '../testing/files-under-test.ts';

const EDITOR: Principal = { ...anonymous('q-1'), userId: '1', tokenId: 't-1' };

let files: FilesUnderTest;
beforeAll(async () => {
  files = await startFilesUnderTest({ maxFilesPerEntity: 3 });
});
afterAll(() => files.stop());

const writing = (entityId: string) => ({ ticket: files.ticket(entityId) });

/** Of all entities: to the tickets of these tests they are versions of one. */
async function trailOf(entityId: string) {
  const ticket = files.ticket(entityId, ['read_audit_log']);
  const { trail } = await files.client.readFileTrail({ ticket, limit: 10_000 }, GATEWAY);
  return (trail?.entries ?? [])
    .filter((entry) => entry.entityId === entityId)
    .map(({ action, actor, metadataJson }) => {
      return { action, userId: actor?.userId, metadata: JSON.parse(String(metadataJson)) };
    })
    .reverse();
}

test('has each file that was started, completed, changed and deleted, once', async () => {
  const { client } = files;
  const entityId = 'trail-00001';
  await client.startUploads({ ...writing(entityId), entries: [{ key: 'a' }, { key: 'b' }] }, EDITOR);
  await files.put(entityId, 'a', 'abc');
  await client.commitUpload({ ...writing(entityId), key: 'a' }, EDITOR);
  await client.commitUpload({ ...writing(entityId), key: 'a' }, EDITOR);
  const metadataJson = Buffer.from('{"note":"x"}');
  const change = () => client.updateEntryMetadata({ ...writing(entityId), key: 'a', metadataJson }, EDITOR);
  const { entry: changed } = await change();
  expect((await change()).entry).toEqual(changed);
  await client.deleteEntries({ ...writing(entityId), keys: ['b'] }, EDITOR);
  const byEditor = (action: string, metadata: object) => ({ action, userId: '1', metadata });
  expect(await trailOf(entityId)).toEqual([
    byEditor('file.init', { key: 'a' }),
    byEditor('file.init', { key: 'b' }),
    byEditor('file.commit', { key: 'a', size: 3, checksum: 'md5:900150983cd24fb0d6963f7d28e17f72' }),
    byEditor('file.update', { key: 'a' }),
    byEditor('file.delete', { key: 'b' }),
  ]);

  const next = 'trail-00002';
  const ticket = files.ticket(next, ['import_files'], entityId);
  await client.importEntries({ ticket }, EDITOR);
  expect(await trailOf(next)).toEqual([byEditor('file.import', { key: 'a', from: entityId })]);
});

test('names the links to the entity and to the package that manages it, and no other', async () => {
  const grant = (linkId: string, parentId: string) => ({ linkId, parentId, permission: 'edit' as const });
  const holder: Principal = {
    ...anonymous('q-2'),
    grants: [grant('l-1', 'parent'), grant('l-2', 'parent of the package'), grant('l-3', 'other')],
  };
  const { client } = files;
  const [from, entityId] = ['trail-00004', 'trail-00005'];
  await client.startUploads({ ...writing(from), entries: [{ key: 'a' }] }, holder);
  await files.put(from, 'a', 'abc');
  await client.commitUpload({ ...writing(from), key: 'a' }, holder);
  await client.importEntries({ ticket: files.ticket(entityId, ['import_files'], from) }, holder);
  const metadataJson = Buffer.from('{"note":"x"}');
  await client.updateEntryMetadata({ ...writing(entityId), key: 'a', metadataJson }, holder);
  await client.deleteEntries({ ...writing(entityId), keys: ['a'] }, holder);
  const ticket = files.ticket(entityId, ['read_audit_log']);
  const { trail } = await client.readFileTrail({ ticket, limit: 5 }, GATEWAY);
  expect(trail?.entries.map(({ action, actor }) => [action, actor?.linkIds])).toEqual(
    ['file.delete', 'file.update', 'file.import', 'file.commit', 'file.init'].map((action) => [
      action,
      ['l-1', 'l-2'],
    ]),
  );
});

test('has no entry for refused changes', async () => {
  const { client } = files;
  const entityId = 'trail-00003';
  const start = (...keys: string[]) =>
    client.startUploads({ ...writing(entityId), entries: keys.map((key) => ({ key })) }, EDITOR);
  await start('taken');
  const refused = [
    await refusalOf(start('new', 'taken')),
    await refusalOf(start('one', 'two', 'three')),
    await refusalOf(client.commitUpload({ ...writing(entityId), key: 'taken' }, EDITOR)),
    await refusalOf(client.deleteEntries({ ...writing(entityId), keys: ['taken', 'unknown'] }, EDITOR)),
    await refusalOf(client.updateEntryMetadata({ ...writing(entityId), key: 'unknown' }, EDITOR)),
  ];
  expect(refused.filter((outcome) => outcome === 'no refusal')).toEqual([]);
  expect(await trailOf(entityId)).toEqual([{ action: 'file.init', userId: '1', metadata: { key: 'taken' } }]);
});

test.each(['write_files', 'read_files', 'manage_links'])('is not read by a ticket for %s', async (action) => {
  const ticket = files.ticket('trail-00001', [action]);
  expect(await refusalOf(files.client.readFileTrail({ ticket, limit: 1 }, GATEWAY))).toMatchObject({
    kind: 'forbidden',
  });
  const readsTrail = files.ticket('trail-00001', ['read_audit_log']);
  expect(await refusalOf(files.client.listEntries({ ticket: readsTrail }, GATEWAY))).toMatchObject({
    kind: 'forbidden',
  });
});
