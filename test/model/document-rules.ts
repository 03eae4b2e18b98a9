/** Rules of fields: sent, stored and invalid values. */
export type Kind = 'records' | 'packages';

export interface Problem {
  field: string;
  messages: string[];
  record?: string;
}

export type Metadata = Readonly<Record<string, unknown>>;

export interface Embargo {
  active?: boolean;
  until?: string;
  reason?: string;
}

/** A body as a client sends it; what is left out is not sent. */
export interface Body {
  metadata?: Metadata;
  access?: { record?: string; files?: string; embargo?: Embargo };
  files?: { enabled?: boolean; default_preview?: string; order?: string[] };
  pids?: object;
}

export interface Access {
  record: string;
  files: string;
  embargo: Embargo;
  /** Of the body that it came from; they stay until another access is sent. */
  problems: readonly Problem[];
}

export const OPEN: Access = { record: 'public', files: 'public', embargo: {}, problems: [] };

const TODAY = new Date().toISOString().slice(0, 10);
const LATER = '9999-12-31';
const MISSING = 'Missing data for required field.';
const KNOWN = ['title', 'publication_date', 'creators', 'resource_type', 'publisher', 'version'];
const DATE = /^\d{4}(-\d\d(-\d\d)?)?(\/\d{4}(-\d\d(-\d\d)?)?)?$/;

export const problem = (field: string, ...messages: string[]): Problem => ({ field, messages });

/**
 * Known fields stay as they were sent, a title without the blanks around it; the client cannot set the type
 * of a package.
 */
export function keptMetadata(sent: Metadata, kind: Kind): Metadata {
  const known = Object.entries(sent).filter(
    ([name]) => KNOWN.includes(name) && !(kind === 'packages' && name === 'resource_type'),
  );
  const { title, ...rest } = Object.fromEntries(known);
  if (title === undefined) return rest;
  return { ...rest, title: typeof title === 'string' ? title.trim() : title };
}

/** Reported once, with the answer to the request that sent them. */
export function unknownFields(sent: Metadata): Problem[] {
  return Object.keys(sent)
    .filter((name) => !KNOWN.includes(name))
    .map((name) => problem(`metadata.${name}`, 'Unknown field.'));
}

export function metadataProblems(metadata: Metadata, kind: Kind): Problem[] {
  return [
    ...textProblems(metadata, 'title', (text) =>
      text.trim().length < 3 ? 'Shorter than minimum length 3.' : undefined,
    ),
    ...textProblems(metadata, 'publication_date', (text) =>
      isDate(text) ? undefined : 'Please provide a valid date or interval.',
    ),
    ...creatorProblems(metadata['creators']),
    ...(kind === 'records' ? typeProblems(metadata['resource_type']) : []),
  ];
}

function textProblems(
  metadata: Metadata,
  name: string,
  check: (text: string) => string | undefined,
): Problem[] {
  const value = metadata[name];
  const field = `metadata.${name}`;
  if (value === undefined) return [problem(field, MISSING)];
  if (value === null) return [problem(field, 'Field may not be null.')];
  if (typeof value !== 'string') return [problem(field, 'Not a valid string.')];
  const message = check(value);
  return message === undefined ? [] : [problem(field, message)];
}

function isDate(text: string): boolean {
  const ends = text.split('/');
  return (
    DATE.test(text) &&
    ends.every((end) => end.length < 10 || new Date(end).toISOString().slice(0, 10) === end) &&
    (ends[1] === undefined || String(ends[0]) <= ends[1])
  );
}

function creatorProblems(creators: unknown): Problem[] {
  if (creators === undefined) return [problem('metadata.creators', MISSING)];
  if (!Array.isArray(creators) || creators.length === 0) return [problem('metadata.creators', MISSING)];
  return creators.flatMap((creator, position) => {
    const { type, family_name: family, name } = creator.person_or_org;
    const field = `metadata.creators.${position}.person_or_org`;
    if (type === 'personal' && family === undefined) {
      return [problem(`${field}.family_name`, 'Family name cannot be blank.')];
    }
    if (type === 'organizational' && name === undefined) {
      return [problem(`${field}.name`, 'Name cannot be blank.')];
    }
    return [];
  });
}

function typeProblems(type: unknown): Problem[] {
  if (type === undefined) return [problem('metadata.resource_type', MISSING)];
  const { id } = type as { id: string };
  return id === 'dataset' ? [] : [problem('metadata.resource_type', `Invalid value ${id}.`)];
}

/** Half an access or a wrong word refuses the whole body. */
export function accessRefusal({ access }: Body): Problem[] {
  if (access === undefined || Object.keys(access).length === 0) return [];
  return (['record', 'files'] as const).flatMap((name) => {
    const value = access[name];
    if (value === undefined) return [problem(`access.${name}`, MISSING)];
    if (value === 'public' || value === 'restricted') return [];
    return [problem(`access.${name}`, `'${name}' must be either 'public' or 'restricted'`)];
  });
}

export function accessOf({ access }: Body, before: Access): Access {
  if (access === undefined) return before;
  const { record, files, embargo = {} } = access;
  if (record === undefined || files === undefined) {
    const problems = [problem('access.record', MISSING), problem('access.files', MISSING)];
    return { ...OPEN, problems };
  }
  const late = embargo.active === true && (embargo.until === undefined || embargo.until < TODAY);
  return {
    record,
    files: record === 'restricted' ? 'restricted' : files,
    embargo,
    problems: late ? [problem('access.embargo.until', 'Embargo end date must be set to a future date.')] : [],
  };
}

/** Over from the first second of its day. */
export function isEmbargoed({ embargo: { active, until = LATER } }: Access): boolean {
  return active === true && until > TODAY;
}

export function accessStatus(access: Access, fileCount: number): string {
  const { record, files } = access;
  if (isEmbargoed(access)) return 'embargoed';
  if (record === 'public' && fileCount === 0) return 'metadata-only';
  return record === 'public' && files === 'public' ? 'open' : 'restricted';
}

export interface FileOptions {
  enabled: boolean;
  preview?: string;
  order: readonly string[];
}

/** Files that are there cannot be disabled by a flag; a body without options resets all but the flag. */
export function fileOptions({ files }: Body, enabledBefore: boolean, fileCount: number): FileOptions {
  const enabled = files?.enabled ?? enabledBefore;
  return {
    enabled: enabled || fileCount > 0,
    order: files?.order ?? [],
    ...(files?.default_preview === undefined ? {} : { preview: files.default_preview }),
  };
}

export function fileProblems({ enabled, preview }: FileOptions, keys: readonly string[]): Problem[] {
  const missing = 'Missing uploaded files. To disable files for this record please mark it as metadata-only.';
  return [
    ...(enabled && keys.length === 0 ? [problem('files.enabled', missing)] : []),
    ...previewProblems(preview, keys),
  ];
}

export function previewProblems(preview: string | undefined, keys: readonly string[]): Problem[] {
  if (preview === undefined || keys.includes(preview)) return [];
  return [problem('files.default_preview', `No file with key "${preview}"`)];
}

/** A flag that was not obeyed. */
export function disablingProblems({ files }: Body, fileCount: number): Problem[] {
  if (files?.enabled !== false || fileCount === 0) return [];
  const present = 'You must first delete all files to set the record to be metadata-only.';
  return [problem('files.enabled', present)];
}
