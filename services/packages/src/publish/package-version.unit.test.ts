import { expect, test } from '@jest/globals';
import type { Entity } from '@kr/draft-lifecycle';
import { packageSnapshot } from './package-version.ts';

const AT = new Date('2026-05-04T00:00:00Z');
const DOCUMENT = {} as NonNullable<Entity['draft']>['document'];
const PACKAGE: Entity = {
  id: 'package-1',
  versionIndex: 1,
  parent: { id: 'parent-1', ownerId: 'owner', managedBy: null, wasManaged: false, linkIds: [] },
  published: null,
  draft: {
    document: DOCUMENT,
    issues: [],
    revision: 3,
    lockedBy: null,
    restrictionRevision: 0,
    createdAt: AT,
    updatedAt: AT,
  },
  pending: [],
  latestIndex: 0,
  lastIndex: 1,
  nextDraftRevision: 4,
};

test('a package is seen with the resources that it was read with, and not without', () => {
  const related = { draft: ['record-1'], published: [] };
  const seen = { parentId: 'parent-1', revision: 3, lockedBy: null };
  expect(packageSnapshot({ ...PACKAGE, related })).toEqual({ ...seen, resourceIds: ['record-1'] });
  expect(() => packageSnapshot(PACKAGE)).toThrow('package-1 was read without its relations');
});

test('a package that is published keeps its resources as they are', () => {
  const published = { document: DOCUMENT, revision: 2, createdAt: AT, updatedAt: AT };
  const related = { draft: ['record-1'], published: ['record-1'] };
  expect(packageSnapshot({ ...PACKAGE, published, related })?.resourceIds).toEqual([]);
  expect(packageSnapshot({ ...PACKAGE, published, draft: null, related })).toBeUndefined();
});
