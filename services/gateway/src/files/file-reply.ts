import type { FileEntry__Output } from '@kr/contracts';
import type { Call } from '../http/endpoint.ts';
import type { Json } from '../rendering/entity-json.ts';
import { fileJson } from '../rendering/file-json.ts';
import { type FilesDeps, fileHolder } from './authorise-files.ts';

/** The document of the one file that a call was about. */
export function fileReply(entry: FileEntry__Output | null, deps: FilesDeps, call: Call): Json {
  if (entry === null) throw new Error('the files service answered without the entry it promised');
  return fileJson(entry, fileHolder(deps, call));
}
