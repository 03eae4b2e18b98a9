import { globSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { contractOf } from '@kr/schema-migration';

const ROOT = resolve(import.meta.dirname, '../..');
const FILES = globSync('{libs,services}/*/migrations/*.sql', { cwd: ROOT });

/** Changes that processes of the previous release cannot work with, by how they are written. */
const TAKES_AWAY: readonly [what: string, how: RegExp][] = [
  ['drops', /\bdrop\s+(table|column|view|function|trigger|schema|type|extension)\b/],
  ['renames', /\brename\b/],
  ['changes a type', /\balter\s+(column\s+)?\w+\s+(set\s+data\s+)?type\b/],
  ['demands a value', /\bset\s+not\s+null\b/],
  [
    'demands a value',
    /\badd\s+(column\s+)?(?!constraint\b|check\b|primary\b|foreign\b)[^,;]*\bnot\s+null\b(?![^,;]*\bdefault\b)(?<!\bdefault\b[^,;]*)/,
  ],
  ['empties', /(^|;)\s*truncate\b/],
];

/** Objects that a migration removes from processes of the previous release; none if it is a contract step. */
function takenAwayBy(sql: string): string[] {
  if (contractOf(sql) !== undefined) return [];
  const statements = sql
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/'[^']*'/g, "''")
    .toLowerCase();
  return [...new Set(TAKES_AWAY.filter(([, how]) => how.test(statements)).map(([what]) => what))];
}

describe('a migration', () => {
  test.each(FILES)('%s only adds what the release before can live with, or is a contract step', (file) => {
    expect(takenAwayBy(readFileSync(resolve(ROOT, file), 'utf8'))).toEqual([]);
  });

  test.each(FILES)('%s follows a file of its set where it is a contract step', (file) => {
    const expanding = contractOf(readFileSync(resolve(ROOT, file), 'utf8'));
    const earlier = FILES.filter(
      (other) => other.startsWith(file.slice(0, file.lastIndexOf('/'))) && other < file,
    );
    const names = earlier.map((other) => basename(other, '.sql'));
    expect(expanding === undefined || names.includes(expanding)).toBe(true);
  });

  test.each([
    ['drops', 'ALTER TABLE item DROP COLUMN name;'],
    ['renames', 'alter table item rename to things;'],
    ['changes a type', 'alter table item alter column id type bigint;'],
    ['demands a value', 'alter table item alter column name set not null;'],
    ['demands a value', 'alter table item add column name text not null;'],
    ['empties', 'truncate item;'],
  ])('that %s is found: %s', (what, sql) => {
    expect(takenAwayBy(sql)).toEqual([what]);
    expect(takenAwayBy(`-- contract of 1_expanded: unused\n${sql}`)).toEqual([]);
  });

  test.each([
    'create table item (id int primary key, name text not null);',
    "alter table item add column name text not null default '', add column size int;",
    "alter table item add column size int, add column name text default '' not null;",
    '-- drop table item\nalter table item add check ((a is null) = (b is not null));',
    'create index thing_name on item (name) where name is not null;',
  ])('that only adds is allowed: %s', (sql) => {
    expect(takenAwayBy(sql)).toEqual([]);
  });
});
