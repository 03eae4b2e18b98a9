import { describe, expect, test } from '@jest/globals';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import { indexedEntity } from './indexed-entity.ts';

const AT = { seconds: '1780000000', nanos: 0 };

function embargoOf(embargo: object): string | null {
  const message = {
    id: 'e7vvn-90a62',
    parentId: 'qbyhw-yw493',
    ownerId: '1',
    form: 'FORM_DRAFT' as const,
    revision: '1',
    versionIndex: 1,
    recordAccess: 'restricted',
    createdAt: AT,
    updatedAt: AT,
    json: Buffer.from(JSON.stringify({ access: { embargo }, metadata: {} })),
  };
  return indexedEntity(message, 'record', RELEASED_VOCABULARIES).embargoUntil;
}

describe('the end of an embargo', () => {
  test.each<[embargo: object, until: string | null]>([
    [{ active: true, until: '2031-03-01' }, '2031-03-01T00:00:00.000000Z'],
    [{ active: false, until: '2031-03-01' }, null],
    [{ active: true }, null],
    // Invalid dates of drafts would stop the whole batch.
    [{ active: true, until: '2031-02-30' }, null],
    [{ active: true, until: '0000-01-01' }, null],
    [{ active: true, until: '2031-13-01' }, null],
    [{ active: true, until: 'soon' }, null],
  ])('%j ends %s', (embargo, until) => {
    expect(embargoOf(embargo)).toBe(until);
  });
});
