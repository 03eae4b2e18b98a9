import { type AuthoriseResponse__Output, FORM_NAMES } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import { hasUserOrLink } from '../caller.ts';
import type { EntityDeps } from '../entities.ts';
import { type Call, param } from '../http/endpoint.ts';
import type { Form } from '../kind.ts';
import type { FileHolder } from '../rendering/file-json.ts';
import type { ResponseCache } from '../response-cache/response-cache.ts';

export type FilesAction = 'read' | 'write' | 'import';

/** Dependencies of the endpoints of files, for one kind and form. */
export interface FilesDeps extends EntityDeps {
  form: Form;
  fileAccess: ResponseCache['fileAccess'];
}

/** The actions of the policy table. The entity's service distinguishes forms. */
const ACTION = { read: 'read_files', write: 'write_files', import: 'import_files' } as const;

/**
 * Requests a ticket for the files service from the entity's service, which decides about access. Anonymous readers of published
 * files share one for up to a second.
 * @throws ServiceError errors of that service
 */
export async function authoriseFiles(
  deps: FilesDeps,
  action: FilesAction,
  call: Call,
): Promise<AuthoriseResponse__Output> {
  const { kind, form, fileAccess } = deps;
  if (form === 'draft' || action !== 'read' || hasUserOrLink(call.principal))
    return requestTicket(deps, action, call);
  const key = `${kind}/${param(call, 'id')}`;
  const found = fileAccess.find(key);
  if (found !== undefined) return found;
  const store = fileAccess.beginRead();
  const authorised = await requestTicket(deps, action, call);
  store(key, authorised.parentId, authorised);
  return authorised;
}

function requestTicket(
  { kind, form, clients }: FilesDeps,
  action: FilesAction,
  call: Call,
): Promise<AuthoriseResponse__Output> {
  return clients.lifecycle[kind].authorise(
    { id: param(call, 'id'), form: FORM_NAMES[form], action: ACTION[action] },
    call.principal,
    { signal: call.signal },
  );
}

/** As `authoriseFiles`. @throws ServiceError `forbidden` too when the entity's files are disabled */
export async function authoriseEnabledFiles(
  deps: FilesDeps,
  action: FilesAction,
  call: Call,
): Promise<AuthoriseResponse__Output> {
  const authorised = await authoriseFiles(deps, action, call);
  assertFilesEnabled(authorised);
  return authorised;
}

function assertFilesEnabled({ filesEnabled }: AuthoriseResponse__Output): void {
  if (!filesEnabled)
    throw new ServiceError('forbidden', 'Files are not enabled.', { code: 'files_disabled' });
}

/**
 * Authorises the caller of a running transfer again, with the current state of the credentials. If a draft was published
 * meanwhile, readers of the published entity may continue to read it.
 *
 * @throws ServiceError
 */
export async function reauthoriseFiles(deps: FilesDeps, action: 'read' | 'write', call: Call): Promise<void> {
  const again = { ...call, principal: await call.authenticateAgain() };
  try {
    assertFilesEnabled(await requestTicket(deps, action, again));
  } catch (error) {
    const isPublished = deps.form === 'draft' && action === 'read' && isNotFound(error);
    if (!isPublished) throw error;
    assertFilesEnabled(await requestTicket({ ...deps, form: 'published' }, action, again));
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof ServiceError && error.kind === 'not_found';
}

export function fileHolder({ kind, form }: FilesDeps, call: Call): FileHolder {
  return { kind, form, id: param(call, 'id'), baseUrl: call.baseUrl };
}
