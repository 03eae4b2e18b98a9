import { expect, test } from '@jest/globals';
import { deadlineIn } from '../deadline.ts';
import { timedQueries } from './timed-queries.ts';

test('the statements of a search share its time, and no further one begins when it is over', async () => {
  let now = 0;
  const sent: string[] = [];
  const run = async (text: string) => {
    sent.push(text);
    if (text.startsWith('SELECT')) now += 400;
    return { rows: [] };
  };
  const pool = { query: run, connect: async () => ({ query: run, release: () => undefined }) };
  const queries = timedQueries(
    { pool: pool as never, poolTimeoutMs: 1_000 },
    deadlineIn(1_000, () => now),
  );
  for (const text of ['SELECT 1', 'SELECT 2', 'SELECT 3']) await queries.query(text, []);
  await expect(queries.query('SELECT 4', [])).rejects.toMatchObject({ code: 'search_timeout' });
  expect(sent).toEqual([
    'SELECT 1',
    'BEGIN; SET LOCAL statement_timeout = 600',
    'SELECT 2',
    'COMMIT',
    'BEGIN; SET LOCAL statement_timeout = 200',
    'SELECT 3',
    'COMMIT',
  ]);
});
