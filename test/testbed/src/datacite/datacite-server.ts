import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How one call fails. `lost`: carried out, but the connection ends before the answer; `hang`: no answer. */
export type DataciteFault = 'busy' | 'limited' | 'cut' | 'lost' | 'hang' | 'none';

export interface DataciteOptions {
  repository: string;
  password: string;
  prefix: string;
  domains: readonly string[];
}

export interface RegisteredDoi {
  state: 'draft' | 'registered' | 'findable';
  attributes: Readonly<Record<string, unknown>>;
}

export interface DataciteServer {
  url: string;
  /** By DOI in lower case. */
  dois: Map<string, RegisteredDoi>;
  /** Calls so far, also failed ones. */
  calls: { method: string; path: string; status: number | 'none' }[];
  /** Host names that URLs of DOIs may have. */
  domains: string[];
  /** Decides for each call, by its number from 1, whether it fails. */
  faults: (call: number) => DataciteFault;
  stop(): Promise<void>;
}

interface Problem {
  status: number;
  errors: readonly { source?: string; title: string }[];
}

const MEDIA_TYPE = 'application/vnd.api+json';
const DOI = /^10\.\d{4,5}\/[-._;()/:a-zA-Z0-9*~$=]+$/;
/** Attributes that registered and findable DOIs must have. */
const REQUIRED = ['creators', 'titles', 'publisher', 'publicationYear', 'types', 'url'];

/**
 * The part of DataCite's REST API that concerns DOIs, with the rules of its server: Basic authentication, JSON:API, the
 * states draft, registered and findable with their events, required metadata, allowed domains, and its errors.
 * @see https://support.datacite.org/docs/api
 */
export async function startDatacite(options: DataciteOptions): Promise<DataciteServer> {
  const dois: DataciteServer['dois'] = new Map();
  const domains = [...options.domains];
  const state: DataciteServer = { url: '', dois, domains, calls: [], faults: () => 'none', stop };
  const server = createServer(async (request, response) => {
    const call = { method: request.method ?? '', path: request.url ?? '', status: 'none' as number | 'none' };
    const fault = state.faults(state.calls.push(call));
    const body = await textOf(request);
    if (fault === 'hang') return;
    if (fault === 'cut') return void request.socket.destroy();
    if (fault === 'busy')
      return refuse(response, { status: 503, errors: [{ title: 'Service Unavailable' }] });
    if (fault === 'limited')
      return refuse(response, { status: 429, errors: [{ title: 'Too many requests' }] });
    const answer = answerTo({ ...options, domains }, dois, request, body);
    if (fault === 'lost') return void request.socket.destroy();
    call.status = answer.status;
    if ('errors' in answer) refuse(response, answer);
    else send(response, answer.status, answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;

  async function stop(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function answerTo(
  options: DataciteOptions,
  dois: DataciteServer['dois'],
  { method = 'GET', url = '/', headers }: IncomingMessage,
  text: string,
): { status: number; body?: unknown } | Problem {
  const { repository, password } = options;
  const credentials = Buffer.from(`${repository}:${password}`).toString('base64');
  const named = decodeURIComponent(new URL(url, 'http://datacite').pathname).replace(/^\/dois\/?/, '');
  const found = dois.get(named.toLowerCase());
  const isPublicRead = method === 'GET' && found?.state === 'findable';
  if (headers.authorization !== `Basic ${credentials}` && !isPublicRead)
    return problem(401, 'Bad credentials.');
  if (method === 'GET')
    return found === undefined ? NOT_FOUND : { status: 200, body: documentOf(named, found) };
  if (method === 'DELETE') {
    if (found === undefined) return NOT_FOUND;
    if (found.state !== 'draft') return problem(405, 'Method not allowed');
    dois.delete(named.toLowerCase());
    return { status: 204 };
  }
  if (
    !headers['content-type']?.startsWith(MEDIA_TYPE) &&
    !headers['content-type']?.startsWith('application/json')
  )
    return problem(415, 'Unsupported media type');
  const attributes = attributesOf(text);
  if (attributes === undefined)
    return problem(400, 'You need to provide a payload following the JSONAPI spec');
  const { event, ...metadata } = attributes;
  const doi = method === 'POST' ? String(metadata['doi'] ?? `${options.prefix}/made-up`) : named;
  if (method === 'POST' && dois.has(doi.toLowerCase()))
    return problem(422, 'This DOI has already been taken', 'doi');
  if (!DOI.test(doi)) return problem(422, 'Invalid DOI', 'doi');
  if (doi.split('/')[0] !== options.prefix)
    return problem(403, 'You are not authorized to access this resource.');
  return change(options, dois, { doi, event: String(event ?? ''), metadata });
}

/** States after each event, from each state. */
const TRANSITIONS: Readonly<Record<string, Readonly<Record<string, RegisteredDoi['state']>>>> = {
  '': { draft: 'draft', registered: 'registered', findable: 'findable' },
  publish: { draft: 'findable', registered: 'findable', findable: 'findable' },
  register: { draft: 'registered', registered: 'registered', findable: 'findable' },
  hide: { draft: 'draft', registered: 'registered', findable: 'registered' },
  show: { draft: 'draft', registered: 'findable', findable: 'findable' },
};

function change(
  { domains }: DataciteOptions,
  dois: DataciteServer['dois'],
  { doi, event, metadata }: { doi: string; event: string; metadata: Readonly<Record<string, unknown>> },
): { status: number; body?: unknown } | Problem {
  const before = dois.get(doi.toLowerCase());
  const state = TRANSITIONS[event]?.[before?.state ?? 'draft'];
  if (state === undefined) return problem(422, `No such event: ${event}`, 'event');
  const attributes = { ...before?.attributes, ...metadata };
  if (state !== 'draft') {
    const missing = REQUIRED.filter((name) => isEmpty(attributes[name]));
    if (missing.length > 0)
      return { status: 422, errors: missing.map((source) => ({ source, title: "can't be blank" })) };
    const url = String(attributes['url']);
    if (!URL.canParse(url) || !['http:', 'https:', 'ftp:'].includes(new URL(url).protocol))
      return problem(422, 'URL is not valid', 'url');
    if (!domains.includes(new URL(url).hostname))
      return problem(422, `URL ${url} is not allowed by repository domain settings.`, 'url');
    if (!/^\d{4}$/.test(String(attributes['publicationYear'])))
      return problem(422, 'The year is not valid', 'publication_year');
    if (isEmpty((attributes['types'] as { resourceTypeGeneral?: string })?.resourceTypeGeneral))
      return problem(422, "can't be blank", 'types/resourceTypeGeneral');
  }
  const registered = { state, attributes };
  dois.set(doi.toLowerCase(), registered);
  return { status: before === undefined ? 201 : 200, body: documentOf(doi, registered) };
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

function attributesOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: { type?: string; attributes?: Record<string, unknown> } };
    return data?.type === undefined || data.type === 'dois' ? data?.attributes : undefined;
  } catch {
    return undefined;
  }
}

function documentOf(doi: string, { state, attributes }: RegisteredDoi): unknown {
  return { data: { id: doi, type: 'dois', attributes: { ...attributes, doi, state } } };
}

const NOT_FOUND = problem(404, "The resource you are looking for doesn't exist.");

function problem(status: number, title: string, source?: string): Problem {
  return { status, errors: [{ ...(source === undefined ? {} : { source }), title }] };
}

function refuse(response: ServerResponse, { status, errors }: Problem): void {
  send(response, status, { errors });
}

function send(response: ServerResponse, status: number, body?: unknown): void {
  response.writeHead(status, { 'content-type': MEDIA_TYPE });
  response.end(body === undefined ? '' : JSON.stringify(body));
}
