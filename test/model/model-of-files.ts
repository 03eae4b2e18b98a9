import { problem } from './document-rules.ts';
import {
  type Caller,
  type Content,
  draftFor,
  type Item,
  invalid,
  isVerdict,
  NOT_FOUND,
  ok,
  readPublished,
  refused,
  type StoredFile,
  type Target,
  type Verdict,
} from './reference-model.ts';

/** Files of drafts; those of a published version are frozen. */
const NOT_ENABLED = refused(403, 'Files are not enabled.');
const FROZEN = refused(403);

const noFile = (id: string, key: string) => refused(404, `Record '${id}' has no file '${key}'.`);

/** A draft whose files may be changed. */
function openFor(caller: Caller, target: Target): { item: Item; draft: Content } | Verdict {
  const found = draftFor(caller, target);
  if (isVerdict(found)) return found;
  if (!found.draft.files.enabled) return NOT_ENABLED;
  return found.item.published === undefined ? found : FROZEN;
}

function fileFor(
  caller: Caller,
  target: Target,
  key: string,
): { item: Item; draft: Content; file: StoredFile } | Verdict {
  const open = openFor(caller, target);
  if (isVerdict(open)) return open;
  const file = open.item.files.find((one) => one.key === key);
  return file === undefined ? noFile(open.item.id, key) : { ...open, file };
}

export function startFiles(caller: Caller, target: Target, keys: readonly string[]): Verdict {
  const open = openFor(caller, target);
  if (isVerdict(open)) return open;
  const { item } = open;
  const taken = keys.find(
    (key, position) => keys.indexOf(key) !== position || item.files.some((file) => file.key === key),
  );
  if (taken !== undefined) return refused(400, `File with key ${taken} already exists.`);
  item.files = [...item.files, ...keys.map((key) => ({ key, isCompleted: false }))];
  return ok(201, item);
}

export function putContent(caller: Caller, target: Target, key: string, content: string): Verdict {
  const found = fileFor(caller, target, key);
  if (isVerdict(found)) return found;
  if (found.file.isCompleted) return refused(400);
  found.file.content = content;
  return ok(200);
}

export function commit(caller: Caller, target: Target, key: string): Verdict {
  const found = fileFor(caller, target, key);
  if (isVerdict(found)) return found;
  if (found.file.content === undefined) return refused(400);
  found.file.isCompleted = true;
  return ok(200);
}

/** A preview that shows a file goes with it. */
export function deleteFile(caller: Caller, target: Target, key: string): Verdict {
  const found = fileFor(caller, target, key);
  if (isVerdict(found)) return found;
  const { item, draft, file } = found;
  item.files = item.files.filter((one) => one !== file);
  if (draft.files.preview === key) item.draft = withoutPreview(draft);
  return ok(204);
}

export function deleteFiles(caller: Caller, target: Target): Verdict {
  const open = openFor(caller, target);
  if (isVerdict(open)) return open;
  const { item, draft } = open;
  if (item.files.some(({ key }) => key === draft.files.preview)) item.draft = withoutPreview(draft);
  item.files = [];
  return ok(204);
}

function withoutPreview(draft: Content): Content {
  const { enabled, order } = draft.files;
  return { ...draft, files: { enabled, order } };
}

/** The files of the published version before this one. */
export function importFiles(caller: Caller, target: Target): Verdict {
  const found = draftFor(caller, target);
  if (isVerdict(found)) return found;
  const { item, draft } = found;
  const previous = item.family.items.findLast(
    ({ index, published }) => index < item.index && published !== undefined,
  );
  if (previous === undefined) return NOT_FOUND;
  if (!draft.files.enabled) return NOT_ENABLED;
  if (item.published !== undefined) return FROZEN;
  if (item.files.length > 0) return invalid([problem('files.enabled', 'Please remove all files first.')]);
  item.files = previous.files.map((file) => ({ ...file }));
  return ok(201, item);
}

export function download(caller: Caller, target: Target, key: string, form: 'draft' | 'published'): Verdict {
  const found = form === 'draft' ? draftFor(caller, target) : readPublished(caller, target, 'files');
  if (isVerdict(found) && found.status !== 200) return found;
  const { item } = target;
  const files = form === 'draft' ? item?.draft?.files : item?.published?.files;
  if (item === undefined || files === undefined) return NOT_FOUND;
  if (!files.enabled) return NOT_ENABLED;
  const file = item.files.find((one) => one.key === key);
  if (file === undefined) return noFile(item.id, key);
  return file.isCompleted ? ok(200) : refused(404);
}
