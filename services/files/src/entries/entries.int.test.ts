import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type FilesUnderTest, GATEWAY, refusalOf, startFilesUnderTest } from '../testing/files-under-test.ts';

let files: FilesUnderTest;
beforeAll(async () => {
  files = await startFilesUnderTest({ maxFilesPerEntity: 120 });
});
afterAll(() => files.stop());

const write = (entityId: string) => ({ ticket: files.ticket(entityId) });
const keysOf = async (entityId: string) => (await files.list(entityId)).map(({ key }) => key);

describe('the entries of a bucket', () => {
  test('are none where nothing was started', async () => {
    expect(await files.list('empty-00001')).toEqual([]);
  });

  test('are listed in the order they were started, all of them each time', async () => {
    await files.start('order-00001', 'z.txt', 'a.txt');
    const entries = await files.start('order-00001', 'm.txt', 'b.txt');
    expect(entries.map(({ key }) => key)).toEqual(['z.txt', 'a.txt', 'm.txt', 'b.txt']);
    expect(entries[0]).toEqual({
      key: 'z.txt',
      createdAt: { seconds: expect.any(String), nanos: expect.any(Number) },
      updatedAt: entries[0]?.createdAt,
      isCompleted: false,
      metadataJson: Buffer.from('null'),
      checksum: '',
      mimetype: '',
      size: '0',
      fileId: '',
      versionId: '',
      bucketId: '',
      storageClass: '',
    });
    expect(await files.start('order-00001')).toEqual(entries);
  });

  test('keep the metadata of the client, until it changes them', async () => {
    const entityId = 'meta-000001';
    const metadataJson = Buffer.from('{"size":3,"metadata":{"width":3,"odd":"\\u0000\\ud800"}}');
    await files.client.startUploads({ ...write(entityId), entries: [{ key: 'a', metadataJson }] }, GATEWAY);
    expect((await files.list(entityId)).map((entry) => entry.metadataJson.toString())).toEqual([
      metadataJson.toString(),
    ]);
    await files.put(entityId, 'a', 'abc');
    const committed = await files.client.commitUpload({ ...write(entityId), key: 'a' }, GATEWAY);
    expect(committed.entry?.metadataJson).toEqual(metadataJson);
    const changed = await files.client.updateEntryMetadata(
      { ...write(entityId), key: 'a', metadataJson: Buffer.from('{ "note": "ü" }') },
      GATEWAY,
    );
    expect(changed.entry?.metadataJson.toString()).toBe('{"note":"ü"}');
  });

  test.each([['[]'], ['"text"'], ['null'], ['{']])('take no %s for metadata', async (json) => {
    await files.start(`badmeta-${json.length}${json.charCodeAt(0)}`, 'a');
    const call = files.client.updateEntryMetadata(
      {
        ...write(`badmeta-${json.length}${json.charCodeAt(0)}`),
        key: 'a',
        metadataJson: Buffer.from(json),
      },
      GATEWAY,
    );
    expect(await refusalOf(call)).toEqual({
      kind: 'invalid',
      message: 'A validation error occurred.',
      issues: [{ field: 'metadata', messages: ['Not a valid mapping type.'] }],
    });
  });

  test('have 1 MiB of metadata together at most', async () => {
    const entityId = 'fullmeta-01';
    const large = Buffer.from(JSON.stringify({ note: 'x'.repeat(65_000) }));
    const entries = Array.from({ length: 16 }, (_, n) => ({ key: `${n}`, metadataJson: large }));
    await files.client.startUploads({ ...write(entityId), entries }, GATEWAY);
    const more = { key: 'more', metadataJson: large };
    const problem = ['The metadata of all files together may have at most 1048576 bytes.'];
    expect(
      await refusalOf(files.client.startUploads({ ...write(entityId), entries: [more] }, GATEWAY)),
    ).toMatchObject({ kind: 'invalid', issues: [{ field: '_schema', messages: problem }] });
    await files.start(entityId, 'small');
    const update = { ...write(entityId), key: 'small', metadataJson: large };
    expect(await refusalOf(files.client.updateEntryMetadata(update, GATEWAY))).toMatchObject({
      kind: 'invalid',
      issues: [{ field: 'metadata', messages: problem }],
    });
    expect(await keysOf(entityId)).toHaveLength(17);
  });

  test('are started all or none', async () => {
    const entityId = 'atomic-0001';
    await files.start(entityId, 'a.txt');
    expect(await refusalOf(files.start(entityId, 'b.txt', 'a.txt', 'c.txt'))).toEqual({
      kind: 'invalid',
      message: 'File with key a.txt already exists.',
      code: 'file_exists',
    });
    expect(await refusalOf(files.start(entityId, 'd.txt', 'd.txt'))).toEqual({
      kind: 'invalid',
      message: 'File with key d.txt already exists.',
      code: 'file_exists',
    });
    expect(await keysOf(entityId)).toEqual(['a.txt']);
  });

  const NOT_A_NAME =
    'Not a valid file name: it has a control or text direction character, "/" or "\\", or is "." or "..".';
  test.each([
    ['', '0.key', 'Missing data for required field.'],
    ['../up.txt', '0.key', NOT_A_NAME],
    ['a\0b', '0.key', NOT_A_NAME],
    ['..', '0.key', NOT_A_NAME],
  ])('are not called %j', async (key, field, message) => {
    expect(await refusalOf(files.start('keys-000001', key))).toEqual({
      kind: 'invalid',
      message: 'A validation error occurred.',
      issues: [{ field, messages: [message] }],
    });
    expect(await keysOf('keys-000001')).toEqual([]);
  });

  test('have names of 255 bytes at most', async () => {
    expect(await refusalOf(files.start('keys-000002', 'ü'.repeat(128)))).toEqual({
      kind: 'invalid',
      message: 'Filename is too long.',
    });
    const longest = `${'ü'.repeat(127)}a`;
    await files.start('keys-000002', longest);
    expect(await keysOf('keys-000002')).toEqual([longest]);
  });

  test('are limited in number, and the limit is named', async () => {
    const refusal = {
      kind: 'invalid',
      message: 'Uploading selected files will result in exceeding the max amount per record.',
      code: 'too_many_files',
      issues: [{ field: 'files', messages: ['At most 120 files are allowed.'] }],
    };
    const keys = Array.from({ length: 120 }, (_, index) => `n${index}`);
    expect(await refusalOf(files.start('limit-00001', ...keys, 'more'))).toEqual(refusal);
    await files.start('limit-00001', ...keys);
    expect(await refusalOf(files.start('limit-00001', 'more'))).toEqual(refusal);
    expect(await keysOf('limit-00001')).toEqual(keys);
  });

  test('are not more than allowed, however many start at once', async () => {
    const ticket = files.ticket('limit-00002');
    const starts = Array.from({ length: 30 }, (_, batch) => {
      const entries = Array.from({ length: 10 }, (__, index) => ({ key: `${batch}-${index}` }));
      return refusalOf(files.client.startUploads({ ticket, entries }, GATEWAY, { timeoutMs: 60_000 }));
    });
    const outcomes = await Promise.all(starts);
    expect(outcomes.filter((outcome) => outcome === 'no refusal')).toHaveLength(12);
    expect(await keysOf('limit-00002')).toHaveLength(120);
  });

  test('cannot be committed without content', async () => {
    await files.start('commit-0001', 'a.txt');
    expect(
      await refusalOf(files.client.commitUpload({ ...write('commit-0001'), key: 'a.txt' }, GATEWAY)),
    ).toEqual({
      kind: 'invalid',
      message: 'File with key a.txt has no content.',
      code: 'file_without_content',
    });
  });

  test('are completed by the commit, which may be repeated', async () => {
    const entityId = 'commit-0002';
    const before = await files.upload(entityId, 'map.txt', 'hello world\n');
    expect(before).toEqual({
      key: 'map.txt',
      createdAt: expect.anything(),
      updatedAt: expect.anything(),
      isCompleted: true,
      metadataJson: Buffer.from('{}'),
      checksum: 'md5:6f5902ac237024bdd0c176cb93063dc4',
      mimetype: 'text/plain',
      size: '12',
      fileId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      versionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      bucketId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      storageClass: 'S',
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const { entry } = await files.client.commitUpload({ ...write(entityId), key: 'map.txt' }, GATEWAY);
    expect({ ...entry, updatedAt: null }).toEqual({ ...before, updatedAt: null });
    expect(entry?.updatedAt).not.toEqual(before?.updatedAt);
    const read = await files.client.readEntry({ ...write(entityId), key: 'map.txt' }, GATEWAY);
    expect(read.entry).toEqual(entry);
  });

  test('that are unknown are named', async () => {
    const unknown = { kind: 'not_found', message: "Record 'gone-000001' has no file 'nope.bin'." };
    const request = { ...write('gone-000001'), key: 'nope.bin' };
    expect(await refusalOf(files.client.readEntry(request, GATEWAY))).toEqual(unknown);
    expect(await refusalOf(files.client.commitUpload(request, GATEWAY))).toEqual(unknown);
    expect(await refusalOf(files.client.updateEntryMetadata(request, GATEWAY))).toEqual(unknown);
    expect(await refusalOf(files.client.deleteEntries({ ...request, keys: ['nope.bin'] }, GATEWAY))).toEqual(
      unknown,
    );
    expect(await refusalOf(files.client.readEntry({ ...request, key: 'a\0' }, GATEWAY))).toEqual({
      ...unknown,
      message: "Record 'gone-000001' has no file 'a\0'.",
    });
  });

  test('are deleted all or none, or all at once', async () => {
    const entityId = 'delete-0001';
    await files.start(entityId, 'a', 'b', 'c', 'd');
    expect(
      await refusalOf(files.client.deleteEntries({ ...write(entityId), keys: ['a', 'x'] }, GATEWAY)),
    ).toEqual({ kind: 'not_found', message: "Record 'delete-0001' has no file 'x'." });
    expect(await keysOf(entityId)).toEqual(['a', 'b', 'c', 'd']);
    await files.client.deleteEntries({ ...write(entityId), keys: ['b', 'd'] }, GATEWAY);
    expect(await keysOf(entityId)).toEqual(['a', 'c']);
    await files.start(entityId, 'b');
    expect(await keysOf(entityId)).toEqual(['a', 'c', 'b']);
    await files.client.deleteEntries({ ...write(entityId), all: true }, GATEWAY);
    expect(await keysOf(entityId)).toEqual([]);
    await files.client.deleteEntries({ ...write(entityId), all: true }, GATEWAY);
  });
});

describe('a repeated call with the same creation key', () => {
  const creationKey = Buffer.alloc(32, 7);

  test('starts no upload twice, and returns all entries', async () => {
    const start = (key: string, creation = creationKey) =>
      files.client.startUploads(
        { ...write('again-00001'), entries: [{ key }], creationKey: creation },
        GATEWAY,
      );
    const first = await start('a.txt');
    await start('b.txt', Buffer.alloc(32, 8));
    await files.put('again-00001', 'a.txt', 'abc');
    const again = await start('a.txt');
    expect(again.entries.map(({ key }) => key)).toEqual(['a.txt', 'b.txt']);
    expect(again.entries[0]).toEqual(first.entries[0]);
    const { rows } = await files.sql.query(
      `select metadata from audit_entry where entity_id = 'again-00001' and action = 'file.init'`,
    );
    expect(rows).toHaveLength(2);
    expect(await refusalOf(start('a.txt', Buffer.alloc(32, 9)))).toMatchObject({ code: 'file_exists' });
  });

  test('imports nothing twice, and returns all entries', async () => {
    await files.upload('again-00002', 'a.txt', 'aaa');
    const ticket = files.ticket('again-00003', ['import_files'], 'again-00002');
    const run = () => files.client.importEntries({ ticket, creationKey }, GATEWAY);
    const first = await run();
    expect(await run()).toEqual(first);
  });
});

describe('an import', () => {
  const importing = (entityId: string, source: string | null) =>
    files.client.importEntries({ ticket: files.ticket(entityId, ['import_files'], source) }, GATEWAY);

  test('shares the content and nothing else, without a byte copied', async () => {
    const first = await files.upload('source-0001', 'z.txt', 'zzz');
    const second = await files.upload('source-0001', 'a.txt', 'aaa');
    await files.start('source-0001', 'pending.txt');
    const before = await files.storedFiles();
    const { entries } = await importing('target-0001', 'source-0001');
    expect(entries.map(({ key, fileId, checksum }) => ({ key, fileId, checksum }))).toEqual(
      [first, second].map((entry) => ({
        key: entry?.key,
        fileId: entry?.fileId,
        checksum: entry?.checksum,
      })),
    );
    expect(entries[0]?.versionId).not.toBe(first?.versionId);
    expect(entries[0]?.bucketId).not.toBe(first?.bucketId);
    expect(await files.storedFiles()).toEqual(before);
    expect(String((await files.get('target-0001', 'z.txt')).body)).toBe('zzz');
  });

  test('wants an empty bucket', async () => {
    await files.upload('source-0002', 'a.txt', 'aaa');
    await files.start('target-0002', 'mine.txt');
    expect(await refusalOf(importing('target-0002', 'source-0002'))).toEqual({
      kind: 'invalid',
      message: 'A validation error occurred.',
      issues: [{ field: 'files.enabled', messages: ['Please remove all files first.'] }],
    });
  });

  test('of a first version finds nothing', async () => {
    expect(await refusalOf(importing('target-0003', null))).toEqual({
      kind: 'not_found',
      message: 'Not found.',
    });
  });
});

describe('a ticket', () => {
  test.each([
    ['read_files', 'no refusal', 'Permission denied.'],
    ['write_files', 'no refusal', 'no refusal'],
    ['manage_links', 'Permission denied.', 'Permission denied.'],
  ])('for %s: list %s, start %s', async (action, list, start) => {
    const ticket = files.ticket('ticket-0001', [action]);
    const outcomes = [
      await refusalOf(files.client.listEntries({ ticket }, GATEWAY)),
      await refusalOf(files.client.startUploads({ ticket, entries: [{ key: `${action}.txt` }] }, GATEWAY)),
    ];
    expect(outcomes.map((outcome) => (typeof outcome === 'string' ? outcome : outcome.message))).toEqual([
      list,
      start,
    ]);
  });

  test('that is none is refused', async () => {
    expect(await refusalOf(files.client.listEntries({ ticket: 'x' }, GATEWAY))).toMatchObject({
      kind: 'unauthenticated',
    });
  });
});
