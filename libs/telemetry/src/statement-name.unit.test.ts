import { expect, test } from '@jest/globals';
import { describeStatement } from './statement-name.ts';

test.each([
  ['select id from version where id = $1', 'select version', 'select'],
  ['SELECT "public"."user"."id" FROM "public"."user" WHERE 1=1', 'select user', 'select'],
  ["select set_config('lock_timeout', '2s', true)", 'select', 'select'],
  [
    '\n  with held as (select id from version for update)\n  update draft d set a = 1',
    'update draft',
    'update',
  ],
  [
    'with gone as (delete from only_once where id = $1 returning *) select * from gone',
    'delete only_once',
    'delete',
  ],
  ['INSERT INTO "outbox" (a) VALUES ($1)', 'insert outbox', 'insert'],
  ['select * from version for update', 'select version', 'select'],
  ['BEGIN', 'begin', 'transaction'],
  ['set local lock_timeout = 1', 'set', 'transaction'],
  ['lock table entry', 'statement', 'other'],
  ['', 'statement', 'other'],
])('%j is shown with its operation and table', (text, name, operation) => {
  expect(describeStatement(text)).toEqual({ name, operation });
});
