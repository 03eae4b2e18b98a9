import type { SchemaState } from '@kr/schema-migration';
import { CliError } from '../cli-error.ts';
import { reachSystem } from '../settings/reach-system.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminOptions } from './context.ts';

interface ServiceState extends SchemaState {
  service: string;
}

/** `kr admin migrate status`: how far each database is; fails when something is pending. */
export async function showMigrations(terminal: Terminal, { json, dataDirs }: AdminOptions): Promise<void> {
  const states = await readMigrations(dataDirs);
  if (json) terminal.print(JSON.stringify({ services: states.map(stateJson) }, null, 2));
  else for (const line of lines(states)) terminal.print(line);
  const pending = states.reduce((sum, state) => sum + state.pending.length, 0);
  const newer = states.some((state) => state.newer.length > 0);
  if (newer) terminal.note('The schema is newer than this release, which can still run on it.');
  if (pending > 0)
    throw new CliError(
      `${pending} migrations are pending. The chart's Jobs apply them; without the chart, each service applies its own at its next start.`,
    );
}

/** The schemas of all databases of a system. @throws CliError if one cannot be reached */
export async function readMigrations(dataDirs: readonly string[]): Promise<ServiceState[]> {
  const [{ SCHEMAS }, { readSchemaState }, { SERVICES }] = await Promise.all([
    import('@kr/backup'),
    import('@kr/schema-migration'),
    import('@kr/local-stack'),
  ]);
  await using reached = await reachSystem(dataDirs, { isMade: false });
  const { databaseUrls } = reached.system;
  const read = SERVICES.map(async (service) => {
    const states = await readSchemaState(databaseUrls[service], SCHEMAS[service]);
    return states.map((state) => ({ service, ...state }));
  });
  const found = await Promise.all(read).catch((error: unknown) => {
    throw new CliError(error instanceof Error ? error.message : String(error));
  });
  return found.flat();
}

function lines(states: readonly ServiceState[]): string[] {
  const rows = states.map((state) => [
    state.service,
    state.set,
    state.applied.at(-1) ?? 'nothing',
    latestRequired(state) ?? 'nothing',
    conditionOf(state),
  ]);
  return table([['service', 'tables of', 'applied', 'required', ''], ...rows]);
}

function conditionOf({ pending, newer }: ServiceState): string {
  if (pending.length > 0) return `${pending.length} pending`;
  return newer.length > 0 ? 'newer' : 'up to date';
}

/** The newest migration that this release contains. */
function latestRequired({ applied, pending, newer }: ServiceState): string | undefined {
  return [...applied.filter((name) => !newer.includes(name)), ...pending].sort().at(-1);
}

function stateJson(state: ServiceState) {
  const { service, set, applied, pending, newer } = state;
  return {
    service,
    set,
    latest_applied: applied.at(-1) ?? null,
    latest_required: latestRequired(state) ?? null,
    applied: applied.length,
    pending,
    newer,
    migrated_by: `a Job of the chart, or the ${service} service when it starts`,
  };
}
