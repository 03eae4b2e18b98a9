import { describe, expect, test } from '@jest/globals';
import { definitions, errorDetailCodec, eventCodecs, isEventSubject, SUBJECTS } from './index.ts';

describe('event codecs', () => {
  test('decode every field, absent ones with their defaults', () => {
    const codec = eventCodecs['knowledge.packages.package.published'];
    const bytes = codec.encode({ id: 'aaaaa-aaaaa', revision: '9007199254740993', recordIds: ['b', 'c'] });
    expect(codec.decode(bytes)).toEqual({
      id: 'aaaaa-aaaaa',
      parentId: '',
      revision: '9007199254740993',
      publicationId: '',
      recordIds: ['b', 'c'],
    });
  });

  test('read bytes that are a view into a larger buffer', () => {
    const codec = eventCodecs['knowledge.records.draft.saved'];
    const bytes = codec.encode({ id: 'x', parentId: 'y', revision: 3 });
    const larger = new Uint8Array(bytes.length + 20);
    larger.set(bytes, 10);
    expect(codec.decode(larger.subarray(10, 10 + bytes.length))).toEqual({
      id: 'x',
      parentId: 'y',
      revision: '3',
    });
  });

  test('refuse bytes that are no message', () => {
    expect(() => eventCodecs['knowledge.records.draft.saved'].decode(Uint8Array.of(255, 255, 255))).toThrow();
  });

  test('exist for every subject and encode an empty payload', () => {
    const lengths = SUBJECTS.map((subject) => eventCodecs[subject].encode({}).length);
    expect(lengths).toEqual(SUBJECTS.map(() => 0));
    expect(SUBJECTS.length).toBe(17);
  });

  test('accept only their own subjects', () => {
    expect(
      ['knowledge.records.draft.saved', 'knowledge.records.draft', 'constructor'].map(isEventSubject),
    ).toEqual([true, false, false]);
  });
});

describe('definitions', () => {
  test('name every service and its methods', () => {
    const names = Object.values(definitions).map(
      (definition) => Object.values<{ path: string }>(definition)[0]?.path,
    );
    expect(names).toEqual([
      '/knowledge.accesslinks.v1.AccessLinksService/CreateLink',
      '/knowledge.events.v1.DeadLettersService/ListDeadLetters',
      '/knowledge.dois.v1.DoisService/ListDois',
      '/knowledge.files.v1.FilesService/ListEntries',
      '/knowledge.files.v1.FilesOperationsService/StartFixityCheck',
      '/knowledge.identity.v1.IdentityService/CreateUser',
      '/knowledge.lifecycle.v1.LifecycleService/CreateDraft',
      '/knowledge.packages.v1.PackagesService/Associate',
      '/knowledge.packages.v1.PublicationReportsService/ListPublications',
      '/knowledge.packages.v1.PublicationsService/Publish',
      '/knowledge.records.v1.RecordsService/PreparePublication',
      '/knowledge.search.v1.SearchService/Search',
    ]);
  });

  test('decode messages into the generated types', () => {
    const { requestSerialize, requestDeserialize } = definitions.lifecycle.ReadEntities;
    expect(requestDeserialize(requestSerialize({ refs: [{ id: 'a', form: 'FORM_DRAFT' }, {}] }))).toEqual({
      refs: [
        { id: 'a', form: 'FORM_DRAFT' },
        { id: '', form: 'FORM_UNSPECIFIED' },
      ],
    });
  });
});

test('an error detail crosses whole', () => {
  const detail = {
    kind: 'invalid',
    message: 'm',
    issues: [{ field: 'f', messages: ['a', 'b'], record: 'r' }],
    code: 'c',
    retryAfterMs: 5,
    currentRevision: '7',
    usedMs: 9,
    membersJson: Buffer.from('{}'),
  };
  expect(errorDetailCodec.decode(errorDetailCodec.encode(detail))).toEqual(detail);
});
