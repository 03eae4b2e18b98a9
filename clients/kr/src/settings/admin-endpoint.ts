import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../failure.ts';

/** A way into a running local system that only the operators of its machine have. */
export interface AdminEndpoint {
  address: string;
  key: string;
  /** The data folder of the system. */
  folder: string;
}

/**
 * The operator interface of that name in the first of these folders with a running system.
 * @throws Failure when there is none, or its file has no address
 */
export async function findOperatorDoor(
  dataDirs: readonly string[],
  name: 'identity' | 'publications' | 'records' | 'files' | 'search',
): Promise<AdminEndpoint> {
  for (const folder of dataDirs) {
    const file = join(folder, 'runtime.json');
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new Failure(`cannot read ${file}: ${error.code}`);
    });
    if (text !== undefined) return { ...parse(text, file, name), folder };
  }
  throw new Failure(
    `No running system in ${dataDirs.join(' or ')}. \`npm start\` starts one; --data-dir names another folder.`,
  );
}

function parse(text: string, file: string, name: string): Omit<AdminEndpoint, 'folder'> {
  try {
    const door = (JSON.parse(text) as Record<string, Partial<AdminEndpoint> | undefined>)[name];
    if (typeof door?.address === 'string' && typeof door.key === 'string') {
      return { address: door.address, key: door.key };
    }
  } catch {
    // Answered below, as any other content without an address.
  }
  throw new Failure(`${file} has no address of the system; start it again`);
}

/** Why the system did not do it, for the operator. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const kind = 'kind' in error ? error.kind : undefined;
  if (kind === 'unavailable') return 'The system does not answer: is it running? `npm start` starts it.';
  const issues = 'issues' in error ? (error.issues as readonly { messages: readonly string[] }[]) : [];
  return issues.flatMap(({ messages }) => messages).join(' ') || error.message;
}
