import { expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { anEntity } from '../index/testing/an-entity.ts';
import { fetchReadable } from './entity-source.ts';

const IDS = Array.from({ length: 200 }, (_, n) => `r${String(n).padStart(3, '0')}`);

/** A source that fails for pages with certain entities. */
function sourceWith(failures: ReadonlyMap<string, Error>) {
  let calls = 0;
  const logged: unknown[] = [];
  const source = {
    fetch: async (_kind: unknown, ids: readonly string[]) => {
      calls += 1;
      for (const id of ids) {
        const failure = failures.get(id);
        if (failure !== undefined) throw failure;
      }
      return ids.map((id) => anEntity({ id }));
    },
  };
  const logger = { error: (about: { id?: string }) => void logged.push(about.id) };
  return {
    read: () => fetchReadable(source, logger as never, 'record', IDS),
    calls: () => calls,
    logged,
  };
}

test('entities that are too large or malformed are omitted and named, all others are read', async () => {
  const large = new ServiceError('invalid', 'Too large.', { code: 'answer_too_large' });
  const { read, calls, logged } = sourceWith(
    new Map<string, Error>([
      ['r007', large],
      ['r150', new Error('cannot be rendered')],
    ]),
  );
  const { entities, unreadable } = await read();
  expect(entities.map(({ id }) => id)).toEqual(IDS.filter((id) => id !== 'r007' && id !== 'r150'));
  expect([unreadable.map(({ id }) => id), logged]).toEqual([
    ['r007', 'r150'],
    ['r007', 'r150'],
  ]);
  expect(calls()).toBeLessThan(40);
});

test('an unavailable service is an error, and no entity is omitted', async () => {
  const away = new ServiceError('unavailable', 'Away.');
  await expect(sourceWith(new Map([['r199', away]])).read()).rejects.toBe(away);
});

test('a failure of every entity is no failure of the stored data', async () => {
  const forbidden = new ServiceError('forbidden', 'Permission denied.');
  const { read, calls } = sourceWith(new Map(IDS.map((id) => [id, forbidden])));
  await expect(read()).rejects.toBe(forbidden);
  expect(calls()).toBeLessThan(50);
});
