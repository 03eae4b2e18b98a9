import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The result of a request instead of its answer: a different answer, or none (`lost`: done, but not
 * answered), or half of a file (`broken`).
 */
export type Interference =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | 'dropped'
  | 'lost'
  | 'broken'
  | undefined;

/**
 * A repository in memory behind a real HTTP server, with the features that the client uses; tests read the
 * received requests.
 */
export interface FakeRepository extends AsyncDisposable {
  baseUrl: string;
  /** `POST /api/records` …, in order of arrival. */
  requests: string[];
  /** The received authorization headers, each once. */
  credentials: Set<string>;
  /** The received tokens of access links, each once. */
  linkTokens: Set<string>;
  entities: Map<string, PretendEntity>;
  /** The `Upload-Offset` headers of received chunks. */
  offsets: number[];
  /** The received `Range` headers. */
  ranges: string[];
  interfere: (request: string) => Interference;
}

export interface PretendEntity {
  kind: 'records' | 'packages';
  document: Record<string, unknown>;
  isPublished: boolean;
  doi?: string;
  files: Map<string, { bytes?: Buffer; isCommitted: boolean }>;
  context: string[];
  resources: string[];
}

interface Answer {
  status: number;
  body?: unknown;
}

export async function fakeRepository(): Promise<FakeRepository> {
  const server = createServer((request, response) => {
    answer(repository, request, response).catch((error: unknown) => {
      response.writeHead(500).end(JSON.stringify({ status: 500, message: String(error) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const repository: FakeRepository = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    credentials: new Set(),
    linkTokens: new Set(),
    entities: new Map(),
    offsets: [],
    ranges: [],
    interfere: () => undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return repository;
}

async function answer(
  repository: FakeRepository,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', repository.baseUrl);
  const name = `${request.method} ${url.pathname}`;
  repository.requests.push(name);
  if (request.headers.authorization !== undefined) repository.credentials.add(request.headers.authorization);
  if (request.headers.range !== undefined) repository.ranges.push(request.headers.range);
  const linkToken = url.searchParams.get('token');
  if (linkToken !== null) repository.linkTokens.add(linkToken);
  const instead = repository.interfere(name);
  if (instead === 'dropped') {
    request.socket.destroy();
    return;
  }
  const body = await readAll(request);
  if (typeof instead === 'object') {
    response
      .writeHead(instead.status, instead.headers)
      .end(JSON.stringify(instead.body ?? { status: instead.status, message: 'no' }));
    return;
  }
  const content = /^GET \/api\/\w+\/([^/]+)\/(?:draft\/)?files\/([^/]+)\/content$/.exec(name);
  const bytes =
    content &&
    repository.entities.get(content[1] ?? '')?.files.get(decodeURIComponent(content[2] ?? ''))?.bytes;
  const isUpload = instead !== 'lost' && onUpload(repository, name, request, response, body);
  if (isUpload) return;
  const answer = bytes ? undefined : route(repository, name, url, body, request.headers.authorization);
  if (instead === 'lost') request.socket.destroy();
  else if (bytes) sendBytes(request, response, bytes, instead === 'broken');
  else
    response
      .writeHead(answer?.status ?? 500)
      .end(answer?.body === undefined ? '' : JSON.stringify(answer.body));
}

/** Answers tus requests, with an address on another host. */
function onUpload(
  repository: FakeRepository,
  name: string,
  { headers }: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
): boolean {
  const [, method, path, id = '', key = ''] =
    /^(\w+) (\/api\/\w+\/([^/]+)\/draft\/files\/([^/]+)\/tus)(?:\/1)?$/.exec(name) ?? [];
  const file = repository.entities.get(id)?.files.get(decodeURIComponent(key));
  if (file === undefined) return false;
  if (method === 'POST') file.bytes = body;
  if (method === 'PATCH') {
    repository.offsets.push(Number(headers['upload-offset']));
    file.bytes = Buffer.concat([file.bytes ?? Buffer.alloc(0), body]);
  }
  response.writeHead(method === 'POST' ? 201 : 204, {
    'tus-resumable': '1.0.0',
    'upload-offset': file.bytes?.length ?? 0,
    'upload-length': 20_000_000,
    location: `http://elsewhere.invalid${path}/1`,
  });
  response.end();
  return true;
}

/** The whole file, or the rest of it; `isBroken`: the connection ends in the middle. */
function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  isBroken: boolean,
): void {
  const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const rest = bytes.subarray(start);
  response.writeHead(start === 0 ? 200 : 206, {
    etag: '"one"',
    'content-length': rest.length,
    'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}`,
  });
  if (isBroken) response.write(rest.subarray(0, rest.length / 2), () => request.socket.destroySoon());
  else response.end(rest);
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const refuse = (status: number, message: string, errors?: unknown): Answer => ({
  status,
  body: { status, message, ...(errors === undefined ? {} : { errors }) },
});

function route(
  repository: FakeRepository,
  name: string,
  url: URL,
  body: Buffer,
  authorization?: string,
): Answer {
  const isKnown = authorization === 'Bearer good';
  if (name === 'GET /api/user/records')
    return isKnown ? { status: 200, body: {} } : refuse(403, 'Permission denied.');
  if (name === 'GET /api/search') return search(repository, url);
  const [, verb = '', kind = '', id = '', rest = ''] =
    /^(\w+) \/api\/(records|packages)(?:\/([^/]+))?(.*)$/.exec(name) ?? [];
  if (!isKnown && verb !== 'GET') return refuse(403, 'Permission denied.');
  if (id === '' && verb === 'POST')
    return create(repository, kind === 'records' ? 'records' : 'packages', JSON.parse(body.toString()));
  const entity = repository.entities.get(id);
  if (entity === undefined || entity.kind !== kind)
    return refuse(404, 'The persistent identifier does not exist.');
  const asDraft = rest.startsWith('/draft');
  if (!asDraft && !rest.startsWith('/context') && !entity.isPublished)
    return refuse(404, 'The persistent identifier is not registered.');
  const file = /\/files\/([^/]+)(\/\w+)?$/.exec(rest);
  if (file)
    return onFile(repository, id, entity, decodeURIComponent(file[1] ?? ''), `${verb} ${file[2] ?? ''}`);
  return onEntity(repository, id, entity, `${verb} ${rest}`, body);
}

function create(
  repository: FakeRepository,
  kind: PretendEntity['kind'],
  document: Record<string, unknown>,
): Answer {
  const id = `abcde-0000${repository.entities.size}`;
  const entity: PretendEntity = {
    kind,
    document,
    isPublished: false,
    files: new Map(),
    context: [],
    resources: [],
  };
  repository.entities.set(id, entity);
  const { title } = document['metadata'] as { title?: string };
  const errors =
    title === undefined
      ? [{ field: 'metadata.title', messages: ['Missing data for required field.'] }]
      : undefined;
  return {
    status: 201,
    body: { ...render(repository, id, entity), ...(errors === undefined ? {} : { errors }) },
  };
}

function onEntity(
  repository: FakeRepository,
  id: string,
  entity: PretendEntity,
  call: string,
  body: Buffer,
): Answer {
  const ok = (status = 200): Answer => ({ status, body: render(repository, id, entity) });
  const ids = (): string[] =>
    Object.values(JSON.parse(body.toString()) as Record<string, { id: string }[]>)
      .flat()
      .map((item) => item.id);
  switch (call) {
    case 'GET ':
    case 'GET /draft':
      return ok();
    case 'PUT /draft':
      entity.document = JSON.parse(body.toString());
      return ok();
    case 'POST /draft/pids/doi':
      if (entity.doi !== undefined)
        return refuse(400, 'A validation error occurred.', [
          { field: 'pids.doi', messages: ['A PID already exists for type doi'] },
        ]);
      entity.doi = `10.5072/${id}`;
      return ok(201);
    case 'GET /files':
    case 'GET /draft/files':
      return listing(repository, id, entity);
    case 'POST /draft/files':
      return startFiles(repository, id, entity, JSON.parse(body.toString()));
    case 'POST /context/actions/associate':
      entity.context = [...new Set([...entity.context, ...ids()])];
      return { status: 204 };
    case 'POST /draft/resources': {
      const strangers = ids().filter((resource) => !entity.context.includes(resource));
      entity.resources = [...new Set([...entity.resources, ...ids()])];
      return {
        status: 200,
        body: { errors: strangers.map((record) => ({ record, message: 'Not in the context.' })) },
      };
    }
    case 'POST /draft/actions/publish':
      entity.isPublished = true;
      for (const resource of entity.resources)
        Object.assign(repository.entities.get(resource) ?? {}, { isPublished: true });
      return ok(202);
    default:
      return refuse(404, 'The requested URL was not found on the server.');
  }
}

function startFiles(
  repository: FakeRepository,
  id: string,
  entity: PretendEntity,
  keys: { key: string }[],
): Answer {
  const existing = keys.find(({ key }) => entity.files.has(key));
  if (existing !== undefined) return refuse(400, `File with key ${existing.key} already exists.`);
  for (const { key } of keys) entity.files.set(key, { isCommitted: false });
  return { ...listing(repository, id, entity), status: 201 };
}

function onFile(
  repository: FakeRepository,
  id: string,
  entity: PretendEntity,
  key: string,
  call: string,
): Answer {
  const file = entity.files.get(key);
  if (file === undefined) return refuse(404, `Record '${id}' has no file '${key}'.`);
  if (call === 'POST /commit') file.isCommitted = true;
  return { status: 200, body: entry(repository, id, entity, key) };
}

function listing(repository: FakeRepository, id: string, entity: PretendEntity): Answer {
  const entries = [...entity.files.keys()].map((key) => entry(repository, id, entity, key));
  return { status: 200, body: { enabled: true, entries } };
}

function entry({ baseUrl }: FakeRepository, id: string, entity: PretendEntity, key: string): object {
  const { bytes, isCommitted = false } = entity.files.get(key) ?? {};
  const self = `${baseUrl}/api/${entity.kind}/${id}${entity.isPublished ? '' : '/draft'}/files/${encodeURIComponent(key)}`;
  const links = { self, content: `${self}/content`, commit: `${self}/commit`, tus: `${self}/tus` };
  if (!isCommitted || bytes === undefined) return { key, status: 'pending', links };
  const checksum = `md5:${createHash('md5').update(bytes).digest('hex')}`;
  return { key, status: 'completed', checksum, size: bytes.length, links };
}

function render(
  { baseUrl }: FakeRepository,
  id: string,
  { kind, document, isPublished, doi }: PretendEntity,
): object {
  const home = `${baseUrl}/api/${kind}/${id}`;
  const self = isPublished ? home : `${home}/draft`;
  return {
    id,
    parent: { id: `p${id}` },
    is_published: isPublished,
    ...document,
    pids: doi === undefined ? {} : { doi: { identifier: doi } },
    links: {
      self,
      self_html: `${baseUrl}/${kind}/${id}`,
      files: `${self}/files`,
      publish: `${home}/draft/actions/publish`,
      reserve_doi: `${home}/draft/pids/doi`,
      ...(kind === 'packages'
        ? { context_associate: `${home}/context/actions/associate`, resources: `${home}/draft/resources` }
        : {}),
    },
  };
}

function search(repository: FakeRepository, url: URL): Answer {
  const q = url.searchParams.get('q') ?? '';
  const found = [...repository.entities].filter(
    ([, { isPublished, document }]) => isPublished && JSON.stringify(document).includes(q),
  );
  const hits = found
    .slice(0, Number(url.searchParams.get('size')))
    .map(([id, entity]) => render(repository, id, entity));
  return { status: 200, body: { hits: { hits, total: found.length } } };
}
