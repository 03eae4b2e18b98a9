import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { PartName } from '@kr/local-stack';
import { startWhenWanted } from '../jest/keeper.ts';
import type { TestSystem } from '../start-system.ts';
import type { Lease, Release, Restart, UserToCreate } from './lease.ts';

// Lends running systems to test files: each has one for itself until it returns it, with the data of the files before.

interface Kept {
  system: TestSystem;
  /** Parts that run with variables of a test file. */
  changed: Set<PartName>;
}

interface Lent extends Kept {
  /** Number of messages of the supervisor before. */
  past: number;
}

const idle: Kept[] = [];
const lent = new Map<string, Lent>();

const operations = {
  lend,
  createUser({ id, name, isAdmin }: UserToCreate) {
    // A known user gets a further token.
    const unique = name.endsWith(id) ? name : `${name}-${id}`;
    return lentAs(id).system.createUser(unique, { admin: isAdmin });
  },
  relaunch({ id, part, further }: Restart) {
    const { system, changed } = lentAs(id);
    changed.add(part);
    return system.relaunch(part, ...further);
  },
  assertNoDrift: ({ id }: { id: string }) => lentAs(id).system.assertNoDrift(),
  takeBack,
};

async function lend(): Promise<Lease> {
  const id = randomBytes(4).toString('hex');
  const { system, changed } = idle.pop() ?? { system: await started(), changed: new Set() };
  await Promise.all([...changed].map((part) => system.relaunch(part)));
  lent.set(id, { system, changed: new Set(), past: system.progress.length });
  const { baseUrl, databaseUrls, environments, natsUrl, logDir, filesDir } = system;
  const { name: user, token } = await system.createUser(`tester-${id}`);
  return { id, baseUrl, databaseUrls, environments, natsUrl, logDir, filesDir, user, token };
}

async function started(): Promise<TestSystem> {
  // Most runs of a few tests need no system.
  const { startSystem } = await import('../start-system.ts');
  return startSystem();
}

/** @throws Error if the next test file could not use the system; it is then stopped */
async function takeBack({ id, hasKilled }: Release): Promise<void> {
  const { system, changed, past } = lentAs(id);
  lent.delete(id);
  try {
    const ends = system.progress.slice(past).filter((message) => /exit code|signal/.test(message));
    if (!hasKilled && ends.length > 0) throw new Error(`parts of the system ended: ${ends.join('; ')}`);
    await system.assertNoDrift();
    idle.push({ system, changed });
  } catch (thrown) {
    await system.stop().catch(() => undefined);
    throw thrown;
  }
}

function lentAs(id: string): Lent {
  const found = lent.get(id);
  if (found === undefined) throw new Error(`no system is lent as ${id}`);
  return found;
}

const server = createServer(async (request, response) => {
  try {
    const operation: (input: never) => Promise<unknown> =
      operations[request.url?.slice(1) as keyof typeof operations];
    response.end(JSON.stringify((await operation((await json(request)) as never)) ?? null));
  } catch (thrown) {
    response.writeHead(500).end(String(thrown));
  }
});

process.once('SIGTERM', async () => {
  const systems = [...idle, ...lent.values()];
  const results = await Promise.allSettled(systems.map(({ system }) => system.stop()));
  const failures = results.filter((result) => result.status === 'rejected');
  for (const { reason } of failures) process.stderr.write(`${String(reason)}\n`);
  process.exit(failures.length === 0 ? 0 : 1);
});

await startWhenWanted(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
});
