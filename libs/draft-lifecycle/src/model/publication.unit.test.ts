import { describe, expect, test } from '@jest/globals';
import type { Entity } from './entity.ts';
import { planPublication } from './publication.ts';

const entity = (
  id: string,
  what: { isPublished?: boolean; lockedBy?: string | null; managedBy?: string },
): Entity =>
  ({
    id,
    parent: { managedBy: what.managedBy ?? null },
    published: what.isPublished === true ? {} : null,
    draft: what.lockedBy === undefined ? null : { lockedBy: what.lockedBy },
  }) as Entity;

const entities = new Map(
  [
    entity('managed', { lockedBy: null, managedBy: 'context' }),
    entity('independent', { lockedBy: null }),
    entity('foreign', { lockedBy: null, managedBy: 'other' }),
    entity('published', { isPublished: true }),
    entity('edited', { isPublished: true, lockedBy: null, managedBy: 'context' }),
    entity('edited elsewhere', { isPublished: true, lockedBy: 'Y' }),
    entity('mine', { lockedBy: 'X', managedBy: 'context' }),
    entity('held', { lockedBy: 'Y', managedBy: 'context' }),
  ].map((one) => [one.id, one]),
);

const OUTCOMES = ['draft', 'unchanged', 'issue', 'blocked'] as const;

function outcome(id: string, packageParentId: string): (typeof OUTCOMES)[number] | undefined {
  const plan = planPublication({ publicationId: 'X', packageParentId, ids: [id, id] }, entities);
  const counts = [
    plan.drafts.length,
    plan.unchangedIds.length,
    plan.issues.length,
    plan.blockedBy === null ? 0 : 1,
  ];
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1);
  return OUTCOMES[counts.indexOf(1)];
}

describe('a publication', () => {
  test.each([
    ['managed', 'draft', 'draft'],
    ['independent', 'issue', 'draft'],
    ['foreign', 'issue', 'draft'],
    ['published', 'unchanged', 'issue'],
    ['edited', 'unchanged', 'draft'],
    ['edited elsewhere', 'unchanged', 'blocked'],
    ['mine', 'draft', 'draft'],
    ['held', 'blocked', 'blocked'],
    ['unknown', 'issue', 'issue'],
  ])('classifies an entity that is %s: with its package %s, alone %s', (id, withPackage, alone) => {
    expect([outcome(id, 'context'), outcome(id, '')]).toEqual([withPackage, alone]);
  });
});
