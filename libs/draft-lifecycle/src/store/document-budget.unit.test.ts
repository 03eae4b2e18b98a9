import { expect, test } from '@jest/globals';
import { documentBudget } from './document-budget.ts';

const MIB = 1024 * 1024;

/** A query for documents of this size, which notes the limits it is given. */
function queryOf(bytes: number) {
  const limits: number[] = [];
  const query = async (limit: number) => {
    limits.push(limit);
    return [{ bytes, document: bytes <= limit ? 'document' : null }];
  };
  return { query, limits };
}

test('a small page takes one query', async () => {
  const { query, limits } = queryOf(1_000);
  expect(await documentBudget().load(query)).toEqual([{ bytes: 1_000, document: 'document' }]);
  expect(limits).toEqual([MIB]);
});

test('a large page is weighed first', async () => {
  const { query, limits } = queryOf(5 * MIB);
  expect(await documentBudget().load(query)).toMatchObject([{ document: 'document' }]);
  expect(limits).toEqual([MIB, 12 * MIB]);
});

test('a page that is larger than any may be is refused before it is loaded', async () => {
  const { query, limits } = queryOf(13 * MIB);
  await expect(documentBudget().load(query)).rejects.toMatchObject({
    kind: 'invalid',
    code: 'answer_too_large',
  });
  expect(limits).toEqual([MIB]);
});
