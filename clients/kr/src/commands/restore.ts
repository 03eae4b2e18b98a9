import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from '../cli-error.ts';
import { type ReachedSystem, reachSystem } from '../settings/reach-system.ts';
import { stepProgress } from '../terminal/step-progress.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { summary } from './backup.ts';
import type { AdminOptions } from './context.ts';

export interface RestoreOptions extends AdminOptions {
  /** Only reads the backup. */
  verify: boolean;
  /** Existing data may be deleted. */
  replace: boolean;
  /** The folder of a local system; created when missing. */
  dataDir?: string;
}

/** `kr admin restore DIR`: reads a backup to its last byte, then puts it in the place of a stopped system's data. */
export async function restore(
  terminal: Terminal,
  folder: string,
  { verify, replace, json, dataDirs, dataDir: newFolder }: RestoreOptions,
): Promise<void> {
  const progress = stepProgress(terminal);
  const { restoreSecrets, restoreBackup, verifyBackup } = await import('@kr/backup');
  const manifest = await verifyBackup(folder, progress).catch(failed);
  terminal.status('');
  if (json) terminal.print(JSON.stringify(manifest, null, 2));
  else for (const line of summary(manifest)) terminal.print(line);
  if (verify) return terminal.note('The backup is intact.');

  const [first = ''] = dataDirs;
  if (newFolder !== undefined && manifest.has_secrets) await restoreSecrets(folder, first);
  await using reached = await reachSystem(dataDirs, { isMade: newFolder !== undefined });
  if (reached.isRunning) throw new CliError('Stop the system first; then restore again.');
  const { dataDir } = reached.system;
  // The first step, so that an unreachable bus stops the command before any change.
  await using events = await eventsOf(terminal, reached);
  await restoreBackup(reached.system, { folder, manifest, isReplacing: replace, progress }).catch(failed);
  await events.forget();
  terminal.status('');
  if (dataDir !== undefined && !(await restoreSecrets(folder, dataDir)))
    terminal.note('The keys are not those of the backup: its access links and stored answers are invalid.');
  if (!manifest.files.has_bytes)
    terminal.note('The backup does not contain the bytes of files: restore them in their store.');
  terminal.note(NEXT);
}

/**
 * Events from after the backup are deleted from the bus; the services send the events of the backup again.
 */
async function eventsOf(
  terminal: Terminal,
  { system, natsUrl }: ReachedSystem,
): Promise<AsyncDisposable & { forget(): Promise<void> }> {
  const nothingOpen = { [Symbol.asyncDispose]: async () => {} };
  if (system.dataDir !== undefined) {
    const folder = join(system.dataDir, 'nats');
    return { forget: () => rm(folder, { recursive: true, force: true }), ...nothingOpen };
  }
  if (natsUrl === undefined) {
    const forget = async () => terminal.note(REMOVE_STREAM);
    return { forget, ...nothingOpen };
  }
  const { openStream } = await import('@kr/event-bus');
  const stream = await openStream(natsUrl).catch(failed);
  return {
    forget: () => stream.remove().catch(failed),
    [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose](),
  };
}

function failed(error: unknown): never {
  throw new CliError(error instanceof Error ? error.message : String(error));
}

const REMOVE_STREAM =
  'Delete the NATS stream KNOWLEDGE before you start the services. Its events do not match the restored data.';

const NEXT = `Restored. Start the services, then:
  kr admin search reindex              builds the index
  kr admin search drift                compares it with the services
  kr admin files verify --now           reads every object
  kr admin publications list --open    running publications; they end without intervention`;
