import { rm } from 'node:fs/promises';
import { writePrivateJson } from '../private-file.ts';

/** `runtime.json`: how operators and tools of this machine reach the running system. */
export interface RuntimeFile {
  /** From here on the file contains the result of `describe`. */
  open(describe: () => unknown): Promise<void>;
  /** Call it when something changed. Never rejects: a full disk must not end a running system. */
  refresh(): void;
  /** Removes the file permanently. */
  close(): Promise<void>;
}

export function runtimeFile(path: string, onProgress: (sentence: string) => void): RuntimeFile {
  let describe: (() => unknown) | undefined;
  let written: Promise<void> = Promise.resolve();
  /** One after the other, so that the last word stays. */
  const write = (): Promise<void> => {
    written = written
      .then(() => (describe === undefined ? undefined : writePrivateJson(path, describe())))
      .catch((thrown: unknown) => onProgress(`${path} cannot be written: ${String(thrown)}`));
    return written;
  };
  return {
    open(description) {
      describe = description;
      return write();
    },
    refresh: () => void write(),
    async close() {
      describe = undefined;
      await written;
      await rm(path, { force: true });
    },
  };
}
