import { describe, expect, test } from '@jest/globals';
import {
  type Holder,
  type Judgement,
  judgeAdditions,
  judgeRemovals,
  type Resource,
} from './resource-rules.ts';

const open: Holder = { parentId: 'pp', isFrozen: false, resourceIds: ['in', 'lost'] };
const frozen: Holder = { ...open, isFrozen: true };

const managedDraft: Resource = { id: 'd', isPublished: false, managedBy: 'pp' };
const managedPublished: Resource = { id: 'm', isPublished: true, managedBy: 'pp' };
const related: Resource = { id: 'r', isPublished: true, managedBy: '' };
const relatedElsewhere: Resource = { id: 'e', isPublished: true, managedBy: 'other' };
const looseDraft: Resource = { id: 'l', isPublished: false, managedBy: '' };
const foreignDraft: Resource = { id: 'f', isPublished: false, managedBy: 'other' };
const lost: Resource = { id: 'lost', isPublished: false, managedBy: '' };

const draftMessage = "This record is a draft and can't be linked to the package as a resource.";
const addMessage = "This resource can't be associated with the package.";
const removeMessage = "This resource can't be removed from the package.";
const ok = (...accepted: string[]): Judgement => ({ accepted, errors: [] });
const no = (record: string, message: string): Judgement => ({ accepted: [], errors: [{ record, message }] });

describe('resources of a package version', () => {
  test.each<{ name: string; given: Resource; added: Judgement; removed: Judgement }>([
    { name: 'a managed draft', given: managedDraft, added: ok('d'), removed: ok('d') },
    { name: 'a managed published resource', given: managedPublished, added: ok('m'), removed: ok('m') },
    { name: "anybody's published resource", given: related, added: ok('r'), removed: ok('r') },
    {
      name: "another package's published resource",
      given: relatedElsewhere,
      added: ok('e'),
      removed: ok('e'),
    },
    {
      name: 'an unmanaged draft',
      given: looseDraft,
      added: no('l', draftMessage),
      removed: no('l', draftMessage),
    },
    {
      name: "another package's draft",
      given: foreignDraft,
      added: no('f', draftMessage),
      removed: no('f', draftMessage),
    },
    {
      name: 'a draft in the version that is managed no more',
      given: lost,
      added: no('lost', draftMessage),
      removed: ok('lost'),
    },
  ])('$name: is added and removed by the rules', ({ given, added, removed }) => {
    expect({ added: judgeAdditions(open, [given]), removed: judgeRemovals(open, [given]) }).toEqual({
      added,
      removed,
    });
  });

  test('are frozen once the version is published', () => {
    expect([judgeAdditions(frozen, [managedDraft]), judgeRemovals(frozen, [managedDraft])]).toEqual([
      no('d', addMessage),
      no('d', removeMessage),
    ]);
  });

  test('are taken each once, the good ones although others are refused', () => {
    expect(judgeAdditions(open, [managedDraft, looseDraft, managedDraft, related])).toEqual({
      accepted: ['d', 'r'],
      errors: [{ record: 'l', message: draftMessage }],
    });
  });
});
