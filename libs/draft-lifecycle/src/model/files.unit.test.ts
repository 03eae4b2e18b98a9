import { describe, expect, test } from '@jest/globals';
import type { StoredFiles } from './entity.ts';
import { type FileCounts, filesIssues, filesOptions, filesPublishIssues, NO_FILES } from './files.ts';

const one: FileCounts = { entries: 1, pending: 0, totalBytes: 3, keys: ['a.txt'] };
const pending: FileCounts = { ...one, pending: 1 };
const files = (enabled: boolean, preview: string | null = null, order: string[] = []): StoredFiles => ({
  enabled,
  default_preview: preview,
  order,
});
const MISSING = {
  field: 'files.enabled',
  messages: ['Missing uploaded files. To disable files for this record please mark it as metadata-only.'],
};
const PRESENT = {
  field: 'files.enabled',
  messages: ['You must first delete all files to set the record to be metadata-only.'],
};

describe('the files object of a body', () => {
  test.each<[string, unknown, StoredFiles | null, FileCounts, StoredFiles, unknown[]]>([
    ['not sent with a new draft', undefined, null, NO_FILES, files(true), []],
    [
      'not sent keeps enabled and resets the rest',
      undefined,
      files(false, 'a', ['a']),
      NO_FILES,
      files(false),
      [],
    ],
    [
      'whole',
      { enabled: true, default_preview: 'a.txt', order: ['a.txt'] },
      null,
      one,
      files(true, 'a.txt', ['a.txt']),
      [],
    ],
    ['preview removed', { enabled: true, default_preview: null }, files(true, 'a.txt'), one, files(true), []],
    ['disabled', { enabled: false }, files(true), NO_FILES, files(false), []],
    ['disabled with files stays enabled', { enabled: false }, files(true), one, files(true), [PRESENT]],
    [
      'as it was read',
      { enabled: true, order: [], count: 1, total_bytes: 3 },
      files(true),
      one,
      files(true),
      [],
    ],
    ['null', null, null, NO_FILES, files(true), [{ field: 'files', messages: ['Field may not be null.'] }]],
    [
      'a list',
      [],
      null,
      NO_FILES,
      files(true),
      [{ field: 'files._schema', messages: ['Invalid input type.'] }],
    ],
    [
      'all wrong',
      { enabled: 'yes', default_preview: 1, order: 'a', foo: 1 },
      null,
      NO_FILES,
      files(true),
      [
        { field: 'files.enabled', messages: ['Not a valid boolean.'] },
        { field: 'files.default_preview', messages: ['Not a valid string.'] },
        { field: 'files.order', messages: ['Not a valid list.'] },
        { field: 'files.foo', messages: ['Unknown field.'] },
      ],
    ],
    [
      'a name that is none in the order',
      { enabled: true, order: ['a', 1] },
      null,
      NO_FILES,
      files(true, null, ['a']),
      [{ field: 'files.order.1', messages: ['Not a valid string.'] }],
    ],
  ])('%s', (_name, input, before, counts, expected, issues) => {
    expect(filesOptions(input, before, counts)).toEqual({ files: expected, issues });
  });
});

describe('what does not fit the files there are', () => {
  const preview = { field: 'files.default_preview', messages: ['No file with key "b.txt"'] };
  const unfinished = {
    field: 'files',
    messages: ['One or more files have not completed their transfer, please wait.'],
  };
  test.each<[string, StoredFiles, FileCounts, unknown[], unknown[]]>([
    ['enabled with a file', files(true, 'a.txt'), one, [], []],
    ['enabled without files', files(true), NO_FILES, [MISSING], [MISSING]],
    ['disabled without files', files(false), NO_FILES, [], []],
    ['disabled with files', files(false), one, [PRESENT], [PRESENT]],
    ['preview of no file', files(true, 'b.txt'), one, [preview], [preview]],
    ['a transfer under way', files(true), pending, [], [unfinished]],
    [
      'everything',
      files(true, 'b.txt'),
      { ...NO_FILES, pending: 1 },
      [MISSING, preview],
      [MISSING, preview, unfinished],
    ],
  ])('%s', (_name, options, counts, saving, publishing) => {
    expect([filesIssues(options, counts), filesPublishIssues(options, counts)]).toEqual([saving, publishing]);
  });
});
