import { CliError } from '../cli-error.ts';
import { callAsOperator, callService, DOI_OWNERS, EVENT_CONSUMERS } from '../settings/call-as-operator.ts';
import { formatBytes } from '../terminal/format-bytes.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatTimeSpan } from '../terminal/time-span.ts';
import type { AdminOptions } from './context.ts';
import { readMigrations } from './migration-status.ts';
import { listOpenPublications } from './publications.ts';

interface Part {
  /** One line for people. */
  state: string;
  isGood: boolean;
}

/** Open publications that are older wait for something. */
const LONG_PUBLICATION_MS = 600_000;
const LIMIT = 1_000;

const PARTS: Readonly<Record<string, (dataDirs: readonly string[]) => Promise<Part>>> = {
  gateway: async (dataDirs) => {
    await callAsOperator('identity', dataDirs, (identity, caller) =>
      identity.listUsers({ afterId: '', limit: 1 }, caller),
    );
    return { state: 'available', isGood: true };
  },
  migrations: async (dataDirs) => {
    const pending = (await readMigrations(dataDirs)).flatMap((state) => state.pending).length;
    return { state: pending === 0 ? 'up to date' : `${pending} pending`, isGood: pending === 0 };
  },
  publications: async (dataDirs) => {
    const { publications, hasMore } = await listOpenPublications(dataDirs, LIMIT);
    const oldestMs = Math.max(0, ...publications.map(({ ageMs }) => Number(ageMs)));
    const age = publications.length === 0 ? '' : `, the oldest ${formatTimeSpan(oldestMs)} old`;
    const count = `${publications.length}${hasMore ? ' or more' : ''} open`;
    return { state: `${count}${age}`, isGood: oldestMs < LONG_PUBLICATION_MS };
  },
  files: async (dataDirs) => {
    const { objects, bytes, damaged } = await callAsOperator('filesOperations', dataDirs, (files, caller) =>
      files.readFixityReport({}, caller),
    );
    const state = `${objects} objects, ${formatBytes(Number(bytes))}, ${damaged} damaged`;
    return { state, isGood: damaged === '0' };
  },
  search: async (dataDirs) => {
    const { engine, documents, isFilled, pendingEvents, drift } = await callAsOperator(
      'search',
      dataDirs,
      (search, caller) => search.describeIndex({}, caller),
    );
    const differing = drift === null ? 0 : Number(drift.missing) + Number(drift.stale) + Number(drift.ghosts);
    const left = differing - Number(drift?.repaired ?? 0);
    const filled = isFilled ? '' : ', not filled yet';
    const state = `${engine}, ${documents} documents${filled}, ${pendingEvents} events pending, ${left} forms differ`;
    return { state, isGood: isFilled && left === 0 };
  },
  'dead letters': async (dataDirs) => {
    const counts = await Promise.all(
      EVENT_CONSUMERS.map(async (service) => {
        const { deadLetters } = await callService('deadLetters', service, dataDirs, (client, caller) =>
          client.listDeadLetters({ afterId: '0', limit: LIMIT }, caller),
        );
        return deadLetters.length;
      }),
    );
    const count = counts.reduce((sum, one) => sum + one, 0);
    return { state: String(count), isGood: count === 0 };
  },
  DOIs: async (dataDirs) => {
    const answers = await Promise.all(
      DOI_OWNERS.map((service) =>
        callService('dois', service, dataDirs, (client, caller) =>
          client.listDois({ afterDoi: '', limit: LIMIT, isFailed: true }, caller),
        ),
      ),
    );
    if (answers.some(({ isConfigured }) => !isConfigured))
      return { state: 'registration is switched off', isGood: true };
    const refused = answers.reduce((sum, { dois }) => sum + dois.length, 0);
    return { state: `${refused} refused`, isGood: refused === 0 };
  },
};

/** `kr admin status`: one line for each part of a system; fails if a part does not answer or needs attention. */
export async function showStatus(terminal: Terminal, { json, dataDirs }: AdminOptions): Promise<void> {
  const parts = await Promise.all(
    Object.entries(PARTS).map(async ([name, read]) => {
      const part = await read(dataDirs).catch((error: unknown) => ({
        state: error instanceof Error ? error.message : String(error),
        isGood: false,
      }));
      return { name, ...part };
    }),
  );
  if (json) {
    const shown = parts.map(({ name, state, isGood }) => ({ name, state, is_good: isGood }));
    terminal.print(JSON.stringify({ parts: shown }, null, 2));
  } else
    for (const line of table(parts.map(({ name, state, isGood }) => [isGood ? '✓' : '✗', name, state])))
      terminal.print(line);
  const bad = parts.filter(({ isGood }) => !isGood).map(({ name }) => name);
  if (bad.length > 0) throw new CliError(`These need attention: ${bad.join(', ')}.`);
}
