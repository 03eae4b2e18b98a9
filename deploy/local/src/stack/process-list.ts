import { writeFileSync } from 'node:fs';
import { endProcess } from '../backends/leftover.ts';
import { processIdentity } from '../backends/process-table.ts';
import { readJson } from '../private-file.ts';

interface ListedProcess {
  pid: number;
  identity: string;
}

interface ListedProcesses {
  supervisor: ListedProcess;
  parts: Record<string, ListedProcess>;
}

/** Thrown when another supervisor works on the same data folder. */
export class AlreadyRunning extends Error {
  readonly pid: number;
  constructor(pid: number) {
    super(`Already running as process ${pid}.`);
    this.pid = pid;
  }
}

export interface ProcessList {
  add(part: string, pid: number): void;
}

/**
 * Claims a data folder: ends processes of a killed supervisor and lists our processes in a file.
 * @throws AlreadyRunning
 */
export async function openProcessList(file: string): Promise<ProcessList> {
  const found = await readJson<ListedProcesses>(file).catch(() => undefined);
  if (found !== undefined) {
    if (isAlive(found.supervisor)) throw new AlreadyRunning(found.supervisor.pid);
    await Promise.all(
      Object.values(found.parts).map((part) => endProcess(part.pid, () => isAlive(part), 'SIGTERM')),
    );
  }
  const list: ListedProcesses = { supervisor: listed(process.pid), parts: {} };
  const write = (): void => writeFileSync(file, JSON.stringify(list), { mode: 0o600 });
  write();
  return {
    add(part, pid) {
      list.parts[part] = listed(pid);
      try {
        write();
      } catch {
        // A full disk must not end a running system; the list is only for the case that we are killed.
      }
    },
  };
}

function listed(pid: number): ListedProcess {
  return { pid, identity: processIdentity(pid) ?? '' };
}

function isAlive({ pid, identity }: ListedProcess): boolean {
  return identity !== '' && processIdentity(pid) === identity;
}
