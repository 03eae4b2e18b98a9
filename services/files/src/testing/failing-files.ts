import type { FileHandle } from 'node:fs/promises';
import { type FileOperations, NODE_FILES } from '../blob/filesystem-blob-store.ts';

/** A test's decision about one call: to fail with a system code, or not. */
export type Verdict = (call: { nth: number; name: string }) => string | undefined;

/** The operating system's files, of which a test lets calls fail; calls of open files are counted among them. */
export function failingFiles(verdict: Verdict): FileOperations {
  let calls = 0;
  const failing = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get: (_target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function' || typeof name !== 'string') return member;
        return async (...values: unknown[]) => {
          calls += 1;
          const code = verdict({ nth: calls, name });
          if (code !== undefined) await refuse(target, name, code);
          const outcome: unknown = await Reflect.apply(member, target, values);
          return name === 'open' ? failing(outcome as FileHandle) : outcome;
        };
      },
    });
  return failing({ ...NODE_FILES });
}

const SYSCALLS: Readonly<Record<string, string>> = { sync: 'fsync', datasync: 'fdatasync' };

/** A close that fails has closed all the same. */
async function refuse(target: object, name: string, code: string): Promise<never> {
  if (name === 'close') await (target as FileHandle).close();
  throw Object.assign(new Error(`${code}: ${name}`), { code, syscall: SYSCALLS[name] ?? name });
}
