import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { POLICY, type Role, SCOPE_OF } from '@kr/access-policy';

const PAGE = await readFile(join(import.meta.dirname, '../../docs/access.md'), 'utf8');

/** Roles with all permissions, which the page does not list per row. */
const EVERYWHERE: readonly Role[] = ['admin', 'service'];

interface Row {
  action: string;
  openTo: string[];
  scope: string | undefined;
}

function rowsOf(page: string): Row[] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => {
      const [action = '', , openTo = '', scope = ''] = line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      const [word = ''] = wordsIn(action);
      return { action: word, openTo: wordsIn(openTo), scope: wordsIn(scope)[0] };
    });
}

function wordsIn(cell: string): string[] {
  return [...cell.matchAll(/`([a-z_]+)`/g)].map(([, word]) => word ?? '');
}

describe('the page on access', () => {
  test('lists for every action its roles and scope, and no other actions', () => {
    const policy = Object.entries(POLICY).map(([action, roles]) => ({
      action,
      openTo: roles.filter((role) => !EVERYWHERE.includes(role)),
      scope: SCOPE_OF[action as keyof typeof SCOPE_OF] ?? undefined,
    }));
    const sorted = (rows: readonly Row[]) =>
      rows
        .map(({ action, openTo, scope }) => ({ action, openTo: [...openTo].sort(), scope }))
        .sort((one, other) => one.action.localeCompare(other.action));
    expect(sorted(rowsOf(PAGE))).toEqual(sorted(policy));
  });

  test('explains every role that it names', () => {
    const explained = wordsIn(PAGE.slice(PAGE.indexOf('A caller can have several roles')));
    const named = new Set(rowsOf(PAGE).flatMap(({ openTo }) => openTo));
    expect([...named].filter((role) => !explained.includes(role))).toEqual([]);
  });
});
