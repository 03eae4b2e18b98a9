import { dirname } from 'node:path';
import { foldersAbove, type Guarantee, type RecordedChange, type Recording } from './recorded-disk.ts';

/** The possible effects of a power cut on an unsynced change: none, all, or for bytes a part. */
type Fate = 'lost' | 'survives' | 'half' | 'only its length';

/** Files by their paths, and `undefined` for folders. */
export type DiskState = Map<string, Buffer | undefined>;

/** A promise that some state breaks. */
export interface Broken {
  name: string;
  moment: number;
  left: string;
}

/**
 * Tries, at every moment and for everything reported by then, all states that a power cut may leave. The state of
 * one object depends only on the changes of its bytes, of its names and of the folders above them; of these, all
 * combinations are tried. No order is assumed: a name in a folder is durable once that folder was synced after it,
 * bytes are durable once their file was, a move is complete or absent, and other bytes may be present in
 * part or as zeros.
 */
export function tryPowerCuts(root: string, recording: Recording): { states: number; broken: Broken[] } {
  const broken: Broken[] = [];
  let states = 0;
  for (let moment = 1; moment <= recording.moments; moment += 1) {
    for (const guarantee of recording.guarantees) {
      if (moment < guarantee.since || moment >= guarantee.until) continue;
      for (const state of statesAt(root, recording, moment, guarantee)) {
        states += 1;
        if (guarantee.paths.some((path) => isIntact(state.get(path), guarantee))) continue;
        const left = guarantee.paths
          .map((path) => state.get(path)?.toString('latin1') ?? 'nothing')
          .join(' and ');
        broken.push({ name: guarantee.name, moment, left });
        break;
      }
    }
  }
  return { states, broken };
}

/** The two extremes: no unsynced change survives, and all do. */
export function stateAt(
  root: string,
  recording: Recording,
  moment: number,
  fate: 'lost' | 'survives',
): DiskState {
  const started = recording.changes.filter((change) => change.startedAt <= moment);
  return diskAfter(
    root,
    started.map((change) => [change, isSure(recording, change, moment) ? 'survives' : fate]),
  );
}

function isIntact(bytes: Buffer | undefined, guarantee: Guarantee): boolean {
  return bytes !== undefined && guarantee.isIntact(bytes);
}

function* statesAt(
  root: string,
  recording: Recording,
  moment: number,
  { paths }: Guarantee,
): Generator<DiskState> {
  const started = recording.changes.filter((change) => change.startedAt <= moment);
  const names = new Set([...paths, ...paths.flatMap((path) => foldersAbove(root, path))]);
  const ofNames = started.filter((change) => namesOf(change).some((name) => names.has(name)));
  const files = new Set(ofNames.flatMap((change) => ('file' in change ? [change.file] : [])));
  const own = started.filter(
    (change) =>
      ofNames.includes(change) ||
      (namesOf(change).length === 0 && 'file' in change && files.has(change.file)),
  );
  const fates = own.map((change): Fate[] =>
    isSure(recording, change, moment) ? ['survives'] : fatesOf(change),
  );
  for (const chosen of combinations(fates)) {
    yield diskAfter(
      root,
      own.map((change, index) => [change, chosen[index] ?? 'survives']),
    );
  }
}

function fatesOf({ kind }: RecordedChange): Fate[] {
  return kind === 'bytes' ? ['lost', 'survives', 'half', 'only its length'] : ['lost', 'survives'];
}

function namesOf(change: RecordedChange): string[] {
  if (change.kind === 'move') return [change.from, change.to];
  return 'path' in change ? [change.path] : [];
}

function isSure({ syncs }: Recording, change: RecordedChange, moment: number): boolean {
  const place = placeOf(change);
  return syncs.some(({ of, startedAt, done }) => of === place && startedAt > change.done && done <= moment);
}

/** The syncs that make the change durable. */
function placeOf(change: RecordedChange): string | number {
  if (change.kind === 'move') return dirname(change.to);
  return 'path' in change ? dirname(change.path) : change.file;
}

function* combinations<Item>([first, ...rest]: readonly (readonly Item[])[]): Generator<Item[]> {
  if (first === undefined) {
    yield [];
    return;
  }
  for (const others of combinations(rest)) for (const item of first) yield [item, ...others];
}

function diskAfter(root: string, changes: readonly (readonly [RecordedChange, Fate])[]): DiskState {
  const names = new Map<string, number>();
  const bytes = new Map<number, Buffer>();
  const folders = new Set<number>();
  for (const [change, fate] of changes) {
    if (fate === 'lost') continue;
    if (change.kind === 'link') {
      names.set(change.path, change.file);
      if (change.isFolder) folders.add(change.file);
    } else if (change.kind === 'unlink') names.delete(change.path);
    else if (change.kind === 'move') {
      names.delete(change.from);
      names.set(change.to, change.file);
    } else bytes.set(change.file, changed(bytes.get(change.file) ?? Buffer.alloc(0), change, fate));
  }
  const isReached = (path: string) => foldersAbove(root, path).every((folder) => names.has(folder));
  return new Map(
    [...names]
      .filter(([path]) => isReached(path))
      .map(([path, file]) => [path, folders.has(file) ? undefined : (bytes.get(file) ?? Buffer.alloc(0))]),
  );
}

function changed(before: Buffer, change: RecordedChange & { kind: 'bytes' | 'size' }, fate: Fate): Buffer {
  const kept = fate === 'half' ? 0.5 : 1;
  const [at, bytes] = change.kind === 'bytes' ? [change.at, change.bytes] : [change.bytes, Buffer.alloc(0)];
  const part = bytes.subarray(0, Math.ceil(bytes.length * kept));
  const size = change.kind === 'size' ? at : Math.max(before.length, at + part.length);
  const after = Buffer.alloc(size);
  before.copy(after, 0, 0, size);
  if (fate !== 'only its length') part.copy(after, at);
  return after;
}
