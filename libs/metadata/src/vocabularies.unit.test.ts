import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { openVocabularies, RELEASED_VOCABULARIES } from './vocabularies.ts';

describe('vocabularies', () => {
  const { lookup, terms } = RELEASED_VOCABULARIES;

  test('are complete where a standard defines completeness', () => {
    const ids = terms('engagementprioritiestypes').map(({ id }) => id);
    expect({
      languages: terms('languages').length > 7800,
      licences: terms('licenses').length > 600,
      resourceTypes: terms('resourcetypes').length,
      roles: terms('creatorsroles').length,
      relations: terms('relationtypes').length,
      fields: terms('subjects').length,
      goals: ids.filter((id) => id.startsWith('sdg-goal-')).length,
      targets: ids.filter((id) => id.startsWith('sdg-target-')).length,
    }).toEqual({
      languages: true,
      licences: true,
      resourceTypes: 73,
      roles: 22,
      relations: 34,
      fields: 48,
      goals: 17,
      targets: 169,
    });
  });

  test('have no entry under the name of an object method', () => {
    expect(lookup('licenses', 'constructor')).toBeUndefined();
    expect(lookup('languages', '__proto__')).toBeUndefined();
  });

  test('read entries from a folder, and again when it changes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kr-vocabularies-'));
    const write = (title: string) => {
      writeFileSync(join(folder, 'new'), JSON.stringify([{ id: 'tu-own', title: { en: title } }]));
      renameSync(join(folder, 'new'), join(folder, 'targetaudiencestypes.json'));
    };
    write('First');
    const problems: Error[] = [];
    const {
      vocabularies: { lookup, terms },
      stop,
    } = openVocabularies(folder, (problem) => problems.push(problem));
    try {
      expect(lookup('targetaudiencestypes', 'tu-own')?.title).toEqual({ en: 'First' });
      expect(lookup('targetaudiencestypes', 'tu-geo-eoanalyst')).toBeDefined();
      write('Second');
      const deadline = Date.now() + 60_000;
      while (lookup('targetaudiencestypes', 'tu-own')?.title['en'] !== 'Second' && Date.now() < deadline) {
        await pause(20);
      }
      expect(lookup('targetaudiencestypes', 'tu-own')?.title).toEqual({ en: 'Second' });
      expect(problems).toEqual([]);
      writeFileSync(join(folder, 'geowptypes.json'), '[{"id": 7}]');
      writeFileSync(join(folder, 'subjects.json'), '[');
      const titles = ['geowptypes', 'subjects'] as const;
      const seen = () => titles.map((type) => lookup(type, 'nothing') ?? terms(type).length > 0);
      while (problems.length < 2 && Date.now() < deadline) {
        seen();
        await pause(20);
      }
      expect(seen()).toEqual([true, true]);
      expect(problems.length).toBeGreaterThanOrEqual(2);
    } finally {
      stop();
      rmSync(folder, { recursive: true });
    }
    expect(RELEASED_VOCABULARIES.lookup('targetaudiencestypes', 'tu-own')).toBeUndefined();
  });
});
