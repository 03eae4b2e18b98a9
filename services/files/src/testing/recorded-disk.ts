import type { FileHandle } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { type FileOperations, NODE_FILES } from '../blob/filesystem-blob-store.ts';

/** The changes of one call: names in folders, or bytes of a file, which has a number. */
export type Change =
  | { kind: 'link'; path: string; file: number; isFolder: boolean }
  | { kind: 'unlink'; path: string }
  | { kind: 'move'; from: string; to: string; file: number }
  | { kind: 'bytes'; file: number; at: number; bytes: Buffer }
  | { kind: 'size'; file: number; bytes: number };

/** When a call began and when it was over, by the count of such moments. */
interface Spell {
  startedAt: number;
  done: number;
}

export type RecordedChange = Change & Spell;

/** Of a folder by its path, of a file by its number. */
export type RecordedSync = Spell & { of: string | number };

/** A report to a client, from this moment on. */
export interface Guarantee {
  name: string;
  /** Where it may lie. */
  paths: readonly string[];
  isIntact(bytes: Buffer): boolean;
  since: number;
  until: number;
}

export interface Recording {
  changes: readonly RecordedChange[];
  syncs: readonly RecordedSync[];
  guarantees: readonly Guarantee[];
  /** How many moments there were. */
  moments: number;
}

export interface RecordedDisk extends Recording {
  files: FileOperations;
  /** Reports to a client now. Returns the function that ends the report's validity. */
  guarantee(options: Omit<Guarantee, 'since' | 'until'>): () => void;
}

const NEVER = Number.POSITIVE_INFINITY;

/** The operating system's files below a folder, of which every change and every sync is written down. */
export function recordedDisk(root: string): RecordedDisk {
  const changes: RecordedChange[] = [];
  const syncs: RecordedSync[] = [];
  const guarantees: Guarantee[] = [];
  const fileAt = new Map<string, number>();
  const folderAt = new Map<string, RecordedChange | undefined>([[root, undefined]]);
  let moment = 0;
  let filesSoFar = 0;

  const next = () => {
    moment += 1;
    return moment;
  };
  const begin = <Kind extends Change>(change: Kind): RecordedChange => {
    const recorded = { ...change, startedAt: next(), done: NEVER };
    changes.push(recorded);
    return recorded;
  };
  const changing = async <Outcome>(change: Change, work: () => Promise<Outcome>): Promise<Outcome> => {
    const recorded = begin(change);
    const outcome = await work();
    recorded.done = next();
    return outcome;
  };
  const syncing = async (of: string | number, work: () => Promise<void>): Promise<void> => {
    const startedAt = next();
    await work();
    syncs.push({ of, startedAt, done: next() });
  };
  const newFile = () => {
    filesSoFar += 1;
    return filesSoFar;
  };

  async function open(path: string, flags: string | number, mode?: number): Promise<FileHandle> {
    if (folderAt.has(path)) return recordedHandle(await NODE_FILES.open(path, flags, mode), path);
    const isNew = !fileAt.has(path) && flags !== 'r' && flags !== 'r+';
    if (!isNew) return recordedHandle(await NODE_FILES.open(path, flags, mode), fileAt.get(path) ?? 0);
    const file = newFile();
    const handle = await changing({ kind: 'link', path, file, isFolder: false }, () =>
      NODE_FILES.open(path, flags, mode),
    );
    fileAt.set(path, file);
    return recordedHandle(handle, file);
  }

  async function mkdir(path: string): Promise<string | undefined> {
    const made: (RecordedChange | undefined)[] = [];
    for (let missing = root; missing !== path; ) {
      missing = join(missing, relative(missing, path).split(sep)[0] ?? '');
      if (!folderAt.has(missing))
        folderAt.set(missing, begin({ kind: 'link', path: missing, file: newFile(), isFolder: true }));
      made.push(folderAt.get(missing));
    }
    const first = await NODE_FILES.mkdir(path, { recursive: true });
    // A second process may be notified first that the folder exists.
    for (const change of made) if (change?.done === NEVER) change.done = next();
    return first;
  }

  async function rename(from: string, to: string): Promise<void> {
    const file = fileAt.get(from);
    if (file === undefined) return NODE_FILES.rename(from, to);
    await changing({ kind: 'move', from, to, file }, () => NODE_FILES.rename(from, to));
    fileAt.delete(from);
    fileAt.set(to, file);
  }

  async function rm(path: string, options: object): Promise<void> {
    await changing({ kind: 'unlink', path }, () => NODE_FILES.rm(path, options));
    fileAt.delete(path);
  }

  function recordedHandle(handle: FileHandle, of: string | number): FileHandle {
    const file = Number(of);
    const writing = <Outcome>(at: number, bytes: Uint8Array, work: () => Promise<Outcome>) =>
      changing({ kind: 'bytes', file, at, bytes: Buffer.from(bytes) }, work);
    const recorded: Partial<Record<keyof FileHandle, unknown>> = {
      sync: () => syncing(of, () => handle.sync()),
      datasync: () => syncing(of, () => handle.datasync()),
      truncate: (bytes: number) => changing({ kind: 'size', file, bytes }, () => handle.truncate(bytes)),
      writeFile: (text: string) => writing(0, Buffer.from(text), () => handle.writeFile(text)),
      write: (bytes: Uint8Array, start: number, length: number, at: number) =>
        writing(at, bytes.subarray(start, start + length), () => handle.write(bytes, start, length, at)),
    };
    return new Proxy(handle, {
      get: (_handle, name) => {
        const own = recorded[name as keyof FileHandle];
        if (own !== undefined) return own;
        const member: unknown = Reflect.get(handle, name, handle);
        return typeof member === 'function' ? member.bind(handle) : member;
      },
    });
  }

  return {
    changes,
    syncs,
    guarantees,
    get moments() {
      return moment;
    },
    files: { ...NODE_FILES, open, mkdir, rename, rm } as FileOperations,
    guarantee: (options) => {
      const one: Guarantee = { ...options, since: next(), until: NEVER };
      guarantees.push(one);
      return () => {
        one.until = next();
      };
    },
  };
}

/** The folders that a path needs, from the outermost below the root to the innermost. */
export function foldersAbove(root: string, path: string): string[] {
  const parent = dirname(path);
  return parent === root || parent === path ? [] : [...foldersAbove(root, parent), parent];
}
