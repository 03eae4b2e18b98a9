import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { GOOD_BODY, type LifecycleFixture, lifecycleFixture } from './lifecycle-fixture.ts';
import { newEntityId } from './new-entity-id.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

const withDoi = (identifier: string) => ({
  ...GOOD_BODY,
  pids: { doi: { identifier, provider: 'external' } },
});

/** Published, or why not. */
async function tryToPublish(id: string): Promise<string> {
  const publicationId = newEntityId();
  const vote = await life.prepare([id], publicationId);
  life.decisions.set(publicationId, vote.isPrepared === true ? 'committed' : 'aborted');
  await life.context.publications.settle([publicationId]);
  return vote.isPrepared === true
    ? 'published'
    : (vote.issues ?? []).map(({ field, messages }) => `${field}: ${messages}`).join();
}

async function isTakenBy(identifier: string): Promise<number> {
  const rows = await life.prisma.version.findMany({ where: { visible: true } });
  return rows.filter(({ document }) => JSON.stringify(document).includes(`"${identifier}"`)).length;
}

test('of drafts that get one DOI and are published at the same instant at most one has it then', async () => {
  for (let round = 0; round < 10; round += 1) {
    const doi = `10.1234/at-once-${round}`;
    const drafts = await Promise.all(Array.from({ length: 4 }, () => life.create(withDoi(doi))));
    const ends = await Promise.all(drafts.map(({ id }) => tryToPublish(id)));
    const refusal = `pids.doi: doi:${doi} already exists.`;
    expect(ends.filter((end) => end !== 'published' && end !== refusal)).toEqual([]);
    expect(await isTakenBy(doi)).toBe(ends.filter((end) => end === 'published').length);
    expect(await isTakenBy(doi)).toBeLessThanOrEqual(1);
  }
});

test('a DOI that a draft gets while another one with it is being published stays with one of them', async () => {
  for (let round = 0; round < 10; round += 1) {
    const doi = `10.1234/while-${round}`;
    const [one, two] = [await life.create(withDoi(doi)), await life.create()];
    const [end] = await Promise.all([
      tryToPublish(one.id),
      life.update(two.id, withDoi(doi)).then(() => tryToPublish(two.id)),
    ]);
    expect([end, await isTakenBy(doi)]).toEqual(
      end === 'published' ? ['published', 1] : [expect.stringContaining('already exists'), 0],
    );
  }
});
