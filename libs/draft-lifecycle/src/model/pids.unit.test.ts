import { describe, expect, test } from '@jest/globals';
import { checkPids, type StoredPids } from './pids.ts';

const id = 'e7vvn-90a62';
const reserved = { doi: { identifier: `10.5072/${id}`, provider: 'datacite', client: 'datacite' } };
const oai = { identifier: `oai:x:${id}`, provider: 'oai' };
const external = { identifier: '10.1234/abc', provider: 'external' };

const check = (input: unknown, before: StoredPids = {}, registered: StoredPids = {}) =>
  checkPids(input, { id, doiPrefix: '10.5072', before, registered });
const issue = (field: string, message: string) => ({ field, messages: [message] });

describe('the pids of a draft', () => {
  test.each<[string, unknown, StoredPids, StoredPids, StoredPids, unknown[]]>([
    ['not sent, none', undefined, {}, {}, {}, []],
    ['not sent, reserved', undefined, reserved, {}, reserved, []],
    ['not sent, external', undefined, { doi: external }, {}, { doi: external }, []],
    ['empty keeps what was reserved', {}, reserved, {}, reserved, []],
    ['empty drops what was external', {}, { doi: external }, {}, {}, []],
    [
      'empty keeps what is registered',
      {},
      { oai, ...reserved },
      { oai, ...reserved },
      { oai, ...reserved },
      [],
    ],
    [
      'as it was read',
      { oai, ...reserved },
      { oai, ...reserved },
      { oai, ...reserved },
      { oai, ...reserved },
      [],
    ],
    ['a registered DOI cannot be replaced', { doi: external }, reserved, reserved, reserved, []],
    ['a reserved one can', { doi: external }, reserved, {}, { doi: external }, []],
    ['an oai of the client’s own is ignored', { oai: { identifier: 'x', provider: 'y' } }, {}, {}, {}, []],
    ['external', { doi: external }, {}, {}, { doi: external }, []],
    [
      'external as a link',
      { doi: { ...external, identifier: 'https://doi.org/10.1234/abc' } },
      {},
      {},
      { doi: external },
      [],
    ],
  ])('%s', (_name, input, before, registered, pids, issues) => {
    expect(check(input, before, registered)).toEqual({ pids, issues });
  });

  test.each<[unknown, StoredPids, unknown]>([
    [null, {}, issue('pids', 'Field may not be null.')],
    ['doi', {}, issue('pids._schema', 'Invalid input type.')],
    [{ handle: external }, {}, issue('pids.handle.key', 'Invalid persistent identifier scheme.')],
    [{ doi: 'x' }, {}, issue('pids.doi.value._schema', 'Invalid input type.')],
    [
      { doi: { identifier: '10.1234/a' } },
      {},
      issue('pids.doi.value.provider', 'Missing data for required field.'),
    ],
    [
      { doi: { identifier: 1, provider: 'external' } },
      {},
      issue('pids.doi.value.identifier', 'Not a valid string.'),
    ],
    [{ doi: { ...external, foo: 1 } }, { doi: external }, issue('pids.doi.value.foo', 'Unknown field.')],
    [
      { doi: { identifier: '', provider: 'external' } },
      { doi: { identifier: '', provider: 'external' } },
      issue('pids.doi', 'Missing DOI for required field.'),
    ],
    [
      { doi: { identifier: 'nonsense', provider: 'external' } },
      { doi: { identifier: 'nonsense', provider: 'external' } },
      issue('pids.doi', 'Invalid DOI'),
    ],
    [
      { doi: { identifier: '10.5072/abc', provider: 'external' } },
      { doi: { identifier: '10.5072/abc', provider: 'external' } },
      issue('pids.doi', "The prefix '10.5072' is administrated locally."),
    ],
    [
      { doi: { identifier: '10.1234/abc', provider: 'datacite' } },
      { doi: { identifier: '10.1234/abc', provider: 'datacite', client: 'datacite' } },
      issue(
        'pids.doi',
        'Wrong DOI 10.1234 prefix provided, it should be 10.5072 as defined in the rest client',
      ),
    ],
    [
      { doi: { identifier: '10.1234/abc', provider: 'robot' } },
      { doi: { identifier: '10.1234/abc', provider: 'robot' } },
      issue('pids.doi', 'Invalid persistent identifier provider.'),
    ],
  ])('%j is wrong', (input, pids, expected) => {
    expect(check(input)).toEqual({ pids, issues: [expected] });
  });
});
