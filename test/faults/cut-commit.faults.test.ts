import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Cut, oneOf, seededRandom } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { type HttpClient, oneTryClient } from '../e2e/story/http-client.ts';
import { insistentClient, persistentClient } from '../e2e/story/persistent-client.ts';
import { link, type PackageOfResources, packageOfResources } from '../e2e/story/stories.ts';
import { type PublicationLedger, publicationLedger } from './publication-ledger.ts';
import { report } from './report.ts';
import { scaled, seed } from './scale.ts';

const PUBLICATIONS = scaled(10, 200);
/** The bytes by which Postgres confirms `COMMIT` and its readiness. */
const REPLY_BYTES = 18;

let system: TestSystem;
let author: HttpClient;
let anonymous: HttpClient;
let ledger: PublicationLedger;
beforeAll(async () => {
  system = await startSystem({
    proxied: ['packages to postgres'],
    settings: { publishLeaseMs: 2_000 },
  });
  author = insistentClient(oneTryClient(system.baseUrl, system.token));
  anonymous = oneTryClient(system.baseUrl);
  ledger = publicationLedger(system);
});
afterAll(async () => {
  await ledger?.close();
  await system?.stop();
});

/** The statement that ends a transaction, not a value that begins like it. */
const isCommit = (bytes: Buffer) => bytes.includes('COMMIT\0');

/** Only the deciding transaction writes this into the outbox. */
const NEWS = 'knowledge.packages.package.published';

/** True of the commit of the transaction that writes the decision. */
function commitOfDecision(): (bytes: Buffer) => boolean {
  let hasDecided = false;
  return (bytes) => {
    hasDecided ||= bytes.includes(NEWS);
    return hasDecided && isCommit(bytes);
  };
}

const COMMITS: Record<string, () => (bytes: Buffer) => boolean> = {
  'the transaction that begins': () => isCommit,
  'the transaction that decides': commitOfDecision,
};

async function stateOf({ main, resources }: PackageOfResources): Promise<string> {
  const targets = [`/packages/${main.id}`, ...resources.map(({ id }) => `/records/${id}`)];
  const answers = await Promise.all(targets.map((target) => anonymous.call('GET', target)));
  return [...new Set(answers.map(({ status }) => status))].join();
}

describe.each(Object.entries(COMMITS))('the connection is cut at the commit of %s', (_, newWhen) => {
  test(
    'and the answer is true, or the repeat returns the outcome',
    async () => {
      const random = seededRandom(seed);
      const proxy = system.proxy('packages to postgres');
      const patient = persistentClient(author);
      const tally: Record<string, number> = {};
      for (let number = 0; number < PUBLICATIONS / 2; number += 1) {
        const one = await packageOfResources(author, `Cut ${number}`, 2);
        const cut: Cut = oneOf(random, [
          { direction: 'to server', afterBytes: 0, when: newWhen() },
          { direction: 'to client', afterBytes: Math.floor(random() * REPLY_BYTES), when: newWhen() },
        ] as const);
        const cuts = proxy.cuts;
        proxy.cutNext(cut);
        const answer = await author.call('POST', link(one.main, 'publish'));
        await ledger.quiet();
        const atRest = await stateOf(one);

        const again = await patient.insist('POST', link(one.main, 'publish'));
        await ledger.quiet();
        const afterwards = await stateOf(one);
        const entities = [one.main, ...one.resources];
        const told = await Promise.all(entities.map(({ id }) => ledger.announcementsOf(id)));
        const { direction, afterBytes } = cut;
        const found = { number, seed, cut: `${direction} ${afterBytes}`, answer: answer.status, atRest };
        expect({
          ...found,
          again: again.status,
          afterwards,
          told,
          broken: patient.broken,
          cuts: proxy.cuts,
        }).toEqual({
          ...found,
          cuts: cuts + 1,
          answer: found.answer === 202 ? 202 : 503,
          atRest: found.answer === 202 ? '200' : expect.stringMatching(/^(200|404)$/),
          again: 202,
          afterwards: '200',
          told: entities.map(() => 1),
          broken: [],
        });
        tally[`${answer.status}, then ${atRest}`] = (tally[`${answer.status}, then ${atRest}`] ?? 0) + 1;
      }
      report(`${PUBLICATIONS / 2} publications: ${JSON.stringify(tally)}`);
    },
    scaled(300_000, 1_800_000),
  );
});
