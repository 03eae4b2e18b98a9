import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { GOOD_BODY, type LifecycleFixture, lifecycleFixture } from './lifecycle-fixture.ts';
import { newEntityId } from './model/ids.ts';

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
  await life.context.publications.resolve([publicationId]);
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

test('a DOI that a draft gets while another one with it is being published belongs to one of them', async () => {
  for (let round = 0; round < 10; round += 1) {
    const doi = `10.1234/while-${round}`;
    const [one, two] = [await life.create(withDoi(doi)), await life.create()];
    const ends = await Promise.all([
      tryToPublish(one.id),
      life.update(two.id, withDoi(doi)).then(() => tryToPublish(two.id)),
    ]);
    expect(ends.filter((end) => end === 'published').length).toBe(1);
    expect(await isTakenBy(doi)).toBe(1);
  }
});

test('a DOI of an unpublished draft does not block a publication', async () => {
  const doi = '10.1234/not-published';
  const [, two] = [await life.create(withDoi(doi)), await life.create(withDoi(doi))];
  expect(await tryToPublish(two.id)).toBe('published');
});

test.each([
  ['in other letters', '10.1234/Abc', '10.1234/aBC'],
  ['with the address of the resolver', '10.1234/resolved', 'https://doi.org/10.1234/RESOLVED'],
])('a published DOI is taken also when it is written %s', async (_how, first, second) => {
  expect(await tryToPublish((await life.create(withDoi(first))).id)).toBe('published');
  const other = await life.create(withDoi(second));
  const spelling = second.replace('https://doi.org/', '');
  expect(await tryToPublish(other.id)).toBe(`pids.doi: doi:${spelling} already exists.`);
});

test('one DOI cannot be published twice by one publication', async () => {
  const drafts = [await life.create(withDoi('10.1234/both')), await life.create(withDoi('10.1234/BOTH'))];
  const vote = await life.prepare(
    drafts.map(({ id }) => id),
    newEntityId(),
  );
  expect(vote.issues?.map(({ record, messages }) => [record, messages])).toEqual([
    [drafts[0]?.id, ['doi:10.1234/both already exists.']],
    [drafts[1]?.id, ['doi:10.1234/BOTH already exists.']],
  ]);
});

test('a DOI with an invisible character is none', async () => {
  const draft = await life.create(withDoi('10.1234/abc\u200b'));
  expect(await tryToPublish(draft.id)).toBe('pids.doi: Invalid DOI');
});

test('a DOI of the other kind is taken', async () => {
  life.world.elsewhere.add('10.1234/of-a-package');
  const draft = await life.create(withDoi('10.1234/of-a-package'));
  expect(await tryToPublish(draft.id)).toBe('pids.doi: doi:10.1234/of-a-package already exists.');
});
