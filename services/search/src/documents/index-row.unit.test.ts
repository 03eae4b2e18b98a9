import { describe, expect, test } from '@jest/globals';
import { anEntity } from '../index/testing/an-entity.ts';
import type { IndexedEntity } from './entity.ts';
import { contentHash, indexRow } from './index-row.ts';

const ENTITY: IndexedEntity = anEntity({
  id: 'a',
  embargoUntil: '2030-01-01',
  geometry: { type: 'Point', coordinates: [10, 50] },
  metadata: { publication_date: '2020', subjects: [{ subject: 'Zebras' }], description: 'Stripes' },
});

describe('the hash of the content', () => {
  /** No part of the content: what decides about changes is compared itself. */
  const APART = ['id', 'form', 'revision', 'sizeBytes'];

  test.each(Object.keys(ENTITY).filter((name) => !APART.includes(name)))('depends on %s', (name) => {
    const other = { ...ENTITY, [name]: name === 'document' ? { id: 'a' } : 'another' } as IndexedEntity;
    expect(contentHash(other)).not.toBe(contentHash(ENTITY));
  });

  test('depends on nothing else', () => {
    for (const name of APART) expect(contentHash({ ...ENTITY, [name]: 'another' })).toBe(contentHash(ENTITY));
    const document = { ...ENTITY.document, links: { self: 'not searchable' } };
    expect(contentHash({ ...ENTITY, document })).toBe(contentHash(ENTITY));
  });

  test('is that of the row', () => {
    const building = indexRow(ENTITY);
    let step = building.next();
    while (step.done !== true) step = building.next();
    expect(step.value.contentHash).toBe(contentHash(ENTITY));
  });
});
