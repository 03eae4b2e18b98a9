import type { Vocabularies } from '@kr/metadata';
import type { FileEntry } from './entity.ts';

/** Input of formats besides the document itself. */
export interface FormatContext {
  /** Scheme and host of the repository, without a slash at the end. */
  baseUrl: string;
  /** Name of the repository. */
  repository: string;
  /** Files that the reader may download; empty if there are none. */
  files: readonly FileEntry[];
  /** Default: the vocabularies of this release. */
  vocabularies?: Vocabularies | undefined;
}
