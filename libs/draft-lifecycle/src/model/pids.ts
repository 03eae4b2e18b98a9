import type { Issue } from '@kr/service-error';
import type { JsonObject, Parent, StoredDocument, StoredPid } from './entity.ts';
import { isJsonObject } from './entity.ts';
import { issue, unknownKeys } from './issues.ts';

export type StoredPids = StoredDocument['pids'];

const SCHEMES = ['doi', 'oai'];
const MISSING = 'Missing data for required field.';
/** Without invisible characters, with which one DOI could be taken for another. */
const DOI = /^10\.\d{4,9}(\.\d+)*\/[^\s\p{C}]+$/u;

/** The stored provider of the DOIs that this installation assigns. */
const MANAGED = 'datacite';
/** Their provider in documents while they are not registered with DataCite. */
const UNREGISTERED = 'local';

export function localDoi(id: string, doiPrefix: string): StoredPid {
  return { identifier: `${doiPrefix}/${id}`, provider: MANAGED, client: MANAGED };
}

export function oaiPid(id: string, oaiPrefix: string): StoredPid {
  return { identifier: `oai:${oaiPrefix}:${id}`, provider: 'oai' };
}

export function isManagedDoi(pid: StoredPid | undefined): boolean {
  return pid?.provider === MANAGED;
}

/**
 * The new `pids` of a draft, from the previous ones, the registered ones of its published form, and the sent
 * ones.
 */
export function checkPids(
  input: unknown,
  {
    id,
    doiPrefix,
    before,
    registered,
  }: { id: string; doiPrefix: string; before: StoredPids; registered: StoredPids },
): { pids: StoredPids; issues: Issue[] } {
  const stored = { ...managedOf(before), ...registered };
  // Absent `pids` stay unchanged: a reserved DOI is removed by discarding it.
  if (input === undefined) return { pids: { ...before, ...registered }, issues: [] };
  if (input === null) return { pids: stored, issues: [issue('pids', 'Field may not be null.')] };
  if (!isJsonObject(input)) return { pids: stored, issues: [issue('pids._schema', 'Invalid input type.')] };

  const issues = Object.keys(input)
    .filter((scheme) => !SCHEMES.includes(scheme))
    .map((scheme) => issue(`pids.${scheme}.key`, 'Invalid persistent identifier scheme.'));
  const doi = input['doi'];
  if (doi === undefined || isManagedDoi(registered['doi'])) return { pids: stored, issues };
  const checked = checkDoi(doi, localDoi(id, doiPrefix), doiPrefix);
  const { oai } = stored;
  const pids = { ...(checked.pid ? { doi: checked.pid } : {}), ...(oai ? { oai } : {}) };
  return { pids, issues: [...issues, ...checked.issues] };
}

function managedOf(pids: StoredPids): StoredPids {
  return Object.fromEntries(
    Object.entries(pids).filter(([scheme, pid]) => scheme !== 'doi' || isManagedDoi(pid)),
  );
}

/** A DOI from a body: stored with its problems if it has the form of one. */
function checkDoi(input: unknown, own: StoredPid, doiPrefix: string): { pid?: StoredPid; issues: Issue[] } {
  if (!isJsonObject(input)) return { issues: [issue('pids.doi.value._schema', 'Invalid input type.')] };
  const issues = unknownKeys(input, ['identifier', 'provider', 'client', 'state'], 'pids.doi.value');
  const { identifier } = input;
  const provider = input['provider'] === UNREGISTERED ? MANAGED : input['provider'];
  if (provider === undefined || provider === null) {
    return { issues: [...issues, issue('pids.doi.value.provider', MISSING)] };
  }
  if (typeof provider !== 'string') {
    return { issues: [...issues, issue('pids.doi.value.provider', 'Not a valid string.')] };
  }
  if (identifier !== undefined && identifier !== null && typeof identifier !== 'string') {
    return { issues: [...issues, issue('pids.doi.value.identifier', 'Not a valid string.')] };
  }
  const doi = bareDoi(identifier ?? '');
  const problem = doiProblem(doi, provider, own, doiPrefix);
  const client = provider === MANAGED ? { client: MANAGED } : {};
  return {
    pid: { identifier: doi, provider, ...client },
    issues: problem === undefined ? issues : [...issues, issue('pids.doi', problem)],
  };
}

function bareDoi(text: string): string {
  return text.trim().replace(/^(https?:\/\/(dx\.)?doi\.org\/|doi:\s*)/i, '');
}

function doiProblem(doi: string, provider: string, own: StoredPid, doiPrefix: string): string | undefined {
  if (provider !== MANAGED && provider !== 'external') return 'Invalid persistent identifier provider.';
  if (doi === '') return 'Missing DOI for required field.';
  if (!DOI.test(doi)) return 'Invalid DOI';
  const [prefix] = doi.split('/');
  if (provider === 'external') {
    return prefix === doiPrefix ? `The prefix '${prefix}' is administrated locally.` : undefined;
  }
  if (prefix !== doiPrefix) {
    return `Wrong DOI ${prefix} prefix provided, it should be ${doiPrefix} as defined in the rest client`;
  }
  return doi === own.identifier ? undefined : 'Invalid DOI';
}

/** An external DOI, which must be unique. */
export function externalDoi(pids: StoredPids): string | undefined {
  const { doi } = pids;
  return doi?.provider === 'external' ? doi.identifier : undefined;
}

export function takenDoi(doi: string): Issue {
  return issue('pids.doi', `doi:${doi} already exists.`);
}

/**
 * States of DOIs that are registered or wait for it, by DOI; undefined while this installation registers none.
 */
export type DoiStates = ReadonlyMap<string, string> | undefined;

/** `pids` of the public document, in the order that clients know. */
export function renderPids(pids: StoredPids, states: DoiStates): JsonObject {
  return Object.fromEntries(
    ['doi', 'oai'].flatMap((scheme) => {
      const pid = pids[scheme];
      return pid === undefined ? [] : [[scheme, renderPid(pid, states)]];
    }),
  );
}

function renderPid(pid: StoredPid, states: DoiStates): JsonObject {
  const { identifier, provider, client } = pid;
  if (isManagedDoi(pid) && states === undefined)
    return { identifier, provider: UNREGISTERED, client: UNREGISTERED };
  const state = states?.get(identifier);
  return {
    identifier,
    provider,
    ...(client === undefined ? {} : { client }),
    ...(state === undefined ? {} : { state }),
  };
}

/** The concept DOI, which leads to the latest version, once DataCite has it or waits for it. */
export function renderConceptPids({ id }: Parent, { doi }: StoredPids, states: DoiStates): JsonObject {
  const [prefix] = doi?.identifier.split('/') ?? [];
  const concept = { identifier: `${prefix}/${id}`, provider: MANAGED, client: MANAGED };
  return isManagedDoi(doi) && states?.has(concept.identifier)
    ? { pids: { doi: renderPid(concept, states) } }
    : {};
}
