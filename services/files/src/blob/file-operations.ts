import * as nodeFiles from 'node:fs/promises';

/** The operating system calls of the filesystem store; tests replace them by failing ones. */
export type FileOperations = Pick<
  typeof nodeFiles,
  'access' | 'mkdir' | 'open' | 'opendir' | 'rename' | 'rm' | 'stat'
>;

export const NODE_FILES: FileOperations = nodeFiles;
