import { describe, expect, test } from '@jest/globals';
import type { Principal } from '@kr/caller';
import type { EntityDocument__Output } from '@kr/contracts';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import { entityJson } from './entity-json.ts';

function document(json: object, form: EntityDocument__Output['form'] = 'FORM_DRAFT'): EntityDocument__Output {
  return {
    id: 'e7vvn-90a62',
    parentId: 'qbyhw-yw493',
    form,
    revision: '4',
    json: Buffer.from(JSON.stringify(json)),
    isPublic: false,
    variant: '',
    doi: '',
  };
}

const RENDERED = {
  id: 'e7vvn-90a62',
  created: '2026-11-21T06:54:43.929200Z',
  updated: '2026-11-21T06:54:44.000001Z',
  revision_id: 4,
  expires_at: '2026-11-21T06:54:43.929241Z',
  metadata: { title: 'x', updated: '2026-11-21T06:54:43.929200Z' },
};

const CALL = {
  vocabularies: RELEASED_VOCABULARIES,
  baseUrl: 'http://h',
  principal: { userId: 'u', grants: [] } as unknown as Principal,
};

describe('the JSON of an entity', () => {
  test('has its links after the instants, which take the form of the kind', () => {
    const { links, ...rest } = entityJson(document(RENDERED), 'record', CALL);
    expect([rest, (links as Record<string, string>)['self']]).toEqual([
      {
        ...RENDERED,
        created: '2026-11-21 06:54:43.929200',
        updated: '2026-11-21 06:54:44.000001',
        expires_at: '2026-11-21 06:54:43.929241',
      },
      'http://h/api/records/e7vvn-90a62/draft',
    ]);
    expect(Object.keys(entityJson(document(RENDERED), 'record', CALL))).toEqual([
      'id',
      'created',
      'updated',
      'links',
      'revision_id',
      'expires_at',
      'metadata',
    ]);
  });

  test('shows when a draft expires in one form for both kinds', () => {
    const { created, expires_at } = entityJson(document(RENDERED), 'package', CALL);
    expect([created, expires_at]).toEqual(['2026-11-21T06:54:43.929200+00:00', '2026-11-21 06:54:43.929241']);
  });
});
