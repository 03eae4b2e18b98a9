import * as nodeFiles from 'node:fs/promises';

/** What the filesystem store asks of the operating system; a test puts one in its place that fails. */
export type FileOperations = Pick<
  typeof nodeFiles,
  'access' | 'mkdir' | 'open' | 'opendir' | 'rename' | 'rm' | 'stat'
>;

export const NODE_FILES: FileOperations = nodeFiles;
