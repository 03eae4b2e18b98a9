import { type Call, param } from '../http/endpoint.ts';
import { authoriseEnabledFiles, type FilesDeps } from './authorise-files.ts';

/**
 * Deletes files of a draft, all of them when no keys are given. A preview that goes with them has left the draft when
 * this is answered.
 */
export async function deleteEntries(deps: FilesDeps, call: Call, keys: string[]): Promise<void> {
  const { kind, clients } = deps;
  const { ticket, defaultPreview } = await authoriseEnabledFiles(deps, 'write', call);
  const deleted = await clients.files.deleteEntries({ ticket, keys }, call.principal);
  if (!deleted.keys.includes(defaultPreview)) return;
  const gone = { id: param(call, 'id'), keys: [defaultPreview] };
  // The files are deleted whatever comes of this, and the event of it has the same effect.
  await clients.lifecycle[kind].forgetFiles(gone, call.principal).catch(() => undefined);
}
