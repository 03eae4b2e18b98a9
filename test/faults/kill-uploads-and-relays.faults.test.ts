import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServiceName } from '@kr/local-stack';
import { until } from '@kr/testbed';
import type { Entity, FileEntry, FilesListing } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { persistentClient } from '../e2e/story/persistent-client.ts';
import { link, upload } from '../e2e/story/stories.ts';
import { type ArmedPart, arm } from './kill/armed-part.ts';
import { ageLeftovers, collectGarbage } from './kill/collected-storage.ts';
import { plansOf, roundsOf } from './kill/kill-rounds.ts';
import { type KillWorld, startKillWorld } from './kill/kill-world.ts';
import { md5Of } from './kill/package-with-files.ts';
import { scaled } from './scale.ts';

const RELAYS = scaled(3, 100);
const ROUND_MS = 900_000;

let world: KillWorld;
beforeAll(async () => {
  world = await startKillWorld();
});
afterAll(() => world?.stop());

describe('kill -9 of the files service', () => {
  test.each(roundsOf(plansOf('upload')))(
    'at $steps: the file is there, or it can be sent again',
    async ({ plans, points }) => {
      const { system, author, stranger, databases, count } = world;
      const draft = await newDraft('Killed while it got a file');
      const file = `${link(draft, 'files')}/data.bin`;
      const bytes = randomBytes(200_000);
      await author.sure('POST', link(draft, 'files'), { json: [{ key: 'data.bin' }] });
      const dying = await arm(system, 'files', ...plans.map(({ orders }) => orders));
      const { insist } = persistentClient(author);
      await insist('GET', file);
      const sendUntilDead = async () => {
        await author.call('PUT', `${file}/content`, { bytes }).catch(() => undefined);
        await author.call('POST', `${file}/commit`).catch(() => undefined);
        return dying.haveDiedAt(points);
      };
      await until(sendUntilDead, {
        timeoutMs: points.length * 60_000,
        what: `deaths at ${points.join(', ')}`,
      });
      expect(await dying.deaths()).toEqual(points);

      const found = await insist<FileEntry>('GET', file);
      count(`upload ${found.body.status}`);
      if (found.body.status === 'pending') {
        await author.sure('PUT', `${file}/content`, { bytes });
        await author.sure('POST', `${file}/commit`);
      }
      const published = await insist<Entity>('POST', link(draft, 'publish'));
      const { entries } = await stranger.sure<FilesListing>('GET', link(published.body, 'files'));
      const contents = await Promise.all(
        entries.map(async (entry) => md5Of((await stranger.call('GET', link(entry, 'content'))).bytes)),
      );
      expect({ checksums: entries.map(({ checksum }) => checksum), contents }).toEqual({
        checksums: [md5Of(bytes)],
        contents: [md5Of(bytes)],
      });
      await databases.atRest();
      expect(await databases.offences()).toEqual([]);
    },
    ROUND_MS,
  );

  test('all leftovers are collected', () => collectGarbage(world.system, world.databases), ROUND_MS);

  test.each(plansOf('gc'))(
    'at $point: leftovers of one collection are removed by the next',
    async ({ point, victim, orders }) => {
      const { system, author, databases } = world;
      const draft = await newDraft('Sent twice');
      const file = `${link(draft, 'files')}/data.bin`;
      const { insist } = persistentClient(author);
      await insist('POST', link(draft, 'files'), { json: [{ key: 'data.bin' }] });
      for (const size of [1_000, 2_000]) await insist('PUT', `${file}/content`, { bytes: randomBytes(size) });
      await ageLeftovers(system, databases);
      await died(await arm(system, victim, orders), point);
      await collectGarbage(system, databases);
    },
    ROUND_MS,
  );
});

async function died(dying: ArmedPart, point: string): Promise<void> {
  await until(() => dying.haveDiedAt([point]), { timeoutMs: 60_000, what: `the death at ${point}` });
}

const newDraft = (title: string) =>
  world.author.sure<Entity>('POST', '/records', { json: recordDocument(title, { withFiles: true }) });

describe('kill -9 of a relay between the acknowledgement of an event and its mark', () => {
  const emitters: [ServiceName, (title: string) => Promise<unknown>][] = [
    ['packages', (title) => world.author.call('POST', '/packages', { json: packageDocument(title) })],
    ['records', (title) => world.author.call('POST', '/records', { json: recordDocument(title) })],
    ['files', async (title) => upload(world.author, await newDraft(title), 'data.bin', randomBytes(100))],
  ];
  const rounds = Array.from({ length: RELAYS }, (_, index) => index + 1);
  test.each(rounds)(
    '%i: no event is lost, none counts twice',
    async (round) => {
      const [victim, emit] = emitters[round % emitters.length] ?? [];
      if (victim === undefined || emit === undefined) throw new Error('no service emits');
      const { system, author, databases } = world;
      const dying = await arm(system, victim, 'outbox.mark.before:kill');
      const { insist } = persistentClient(author);
      await Promise.all(['/user/packages', '/user/records'].map((target) => insist('GET', target)));
      const emitUntilDead = async () => {
        await emit(`Relayed ${round}`).catch(() => undefined);
        return dying.haveDiedAt(['outbox.mark.before']);
      };
      await until(emitUntilDead, { what: 'the death at outbox.mark.before' });
      await databases.atRest();
      expect(await databases.offences()).toEqual([]);
    },
    ROUND_MS,
  );
});
