import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { servicePrincipal } from '@kr/caller';
import { type Definitions, definitions, type EntityDocument } from '@kr/contracts';
import { type Client, createClient, type Handlers, type Server, serve } from '@kr/rpc';
import { createLogger } from '@kr/telemetry';
import { freshDatabase } from '@kr/testbed';
import { type GatewayConfig, readConfig } from './config.ts';
import { startGatewayService } from './service.ts';

type Scripted<Name extends keyof Definitions> = {
  -readonly [Rpc in keyof Handlers<Definitions[Name]>]?: Handlers<Definitions[Name]>[Rpc];
};

/** The answers of the services behind a gateway under test; tests change it while they run. */
export interface Script {
  records: Scripted<'lifecycle'>;
  packages: Scripted<'lifecycle'> & Scripted<'packages'> & Scripted<'publications'>;
  files: Scripted<'files'>;
  accessLinks: Scripted<'accessLinks'>;
  search: Scripted<'search'>;
  /** The content port of the files service. */
  content: RequestListener;
}

export interface GatewayUnderTest extends AsyncDisposable {
  baseUrl: string;
  script: Script;
  databaseUrl: string;
  /** Moves its clock for caches and rate limits, which otherwise does not advance. */
  later(ms: number): void;
  /** Text bodies are JSON unless their type is given. */
  fetch(path: string, init?: RequestInit & { token?: string }): Promise<Response>;
  createUser(name: string, isAdmin?: boolean): Promise<{ userId: string; token: string; isAdmin: boolean }>;
  identity: Client<Definitions['identity']>;
  findUser(nameOrId: string): Promise<{ userId: string; name: string }>;
  stop(): Promise<void>;
}

const KEY = 'a key of at least thirty-two characters';

/**
 * A real gateway with a real database, in front of real gRPC servers with scripted answers. Rate limits are off
 * by default; `limits` replaces constants of its configuration.
 */
export async function startGateway(
  env: Record<string, string> = {},
  { limits, ...options }: { now?: () => Date; limits?: Partial<GatewayConfig['limits']> } = {},
): Promise<GatewayUnderTest> {
  const logger = createLogger('test');
  logger.level = 'silent';
  const script: Script = {
    records: {},
    packages: {},
    files: {},
    accessLinks: {},
    search: {},
    content: (_request, response) => response.writeHead(500).end(),
  };
  const { lifecycle, packages, publications, files, accessLinks, search } = definitions;
  const listen = (audience: string, all: readonly object[], answers: () => object): Promise<Server> =>
    serve({
      services: all.map((definition) => ({
        definition,
        handlers: handlersOf(definition, answers),
        callers: { gateway: 'all' },
      })),
      host: '127.0.0.1',
      port: 0,
      audience,
      callerKeys: new Map([['gateway', KEY]]),
      logger,
    });
  const servers = {
    RECORDS: await listen('records', [lifecycle], () => script.records),
    PACKAGES: await listen('packages', [lifecycle, packages, publications], () => script.packages),
    FILES: await listen('files', [files], () => script.files),
    ACCESS_LINKS: await listen('access-links', [accessLinks], () => script.accessLinks),
    SEARCH: await listen('search', [search], () => script.search),
  };
  const content = createServer((request, response) => script.content(request, response));
  await new Promise<void>((resolve) => content.listen(0, '127.0.0.1', resolve));

  const database = await freshDatabase();
  const config = readConfig({
    HTTP_PORT: '0',
    DATABASE_URL: database.url,
    CALLER_KEYS: `operator=${KEY}`,
    SEALING_KEY: KEY,
    RATE_LIMIT_ANONYMOUS: '0',
    RATE_LIMIT_USER: '0',
    RATE_LIMIT_FAILED_CREDENTIALS: '0',
    FILES_CONTENT_URL: `http://127.0.0.1:${(content.address() as AddressInfo).port}`,
    ...Object.fromEntries(
      Object.entries(servers).flatMap(([name, { port }]) => [
        [`${name}_ADDRESS`, `127.0.0.1:${port}`],
        [`${name}_KEY`, KEY],
      ]),
    ),
    ...env,
  });
  let elapsedMs = 0;
  const gateway = await startGatewayService({ ...config, limits: { ...config.limits, ...limits } }, logger, {
    elapsed: () => elapsedMs,
    ...options,
  });
  const identity = createClient(definitions.identity, {
    address: `127.0.0.1:${gateway.grpcPort}`,
    audience: 'gateway',
    caller: 'operator',
    key: KEY,
    // Long enough for a loaded machine.
    defaultTimeoutMs: 60_000,
  });
  const baseUrl = `http://127.0.0.1:${gateway.httpPort}`;
  const stop = async (): Promise<void> => {
    identity.close();
    await gateway.stop();
    content.close();
    content.closeAllConnections();
    await Promise.all(Object.values(servers).map((server) => server.stop()));
    await database.drop();
  };
  return {
    baseUrl,
    script,
    databaseUrl: database.url,
    later: (ms) => {
      elapsedMs += ms;
    },
    fetch: (path, { token, ...init } = {}) => {
      const headers = new Headers(init.headers);
      if (typeof init.body === 'string' && !headers.has('content-type')) {
        headers.set('content-type', 'application/json');
      }
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
      return fetch(`${baseUrl}${path}`, { redirect: 'manual', ...init, headers });
    },
    createUser: (name, isAdmin = false) =>
      identity.createUser({ name, isAdmin, addsToken: true }, servicePrincipal('test')),
    identity,
    findUser: (nameOrId) => identity.findUser({ nameOrId }, servicePrincipal('test')),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** A handler for each RPC, which looks its answer up when it is called. */
function handlersOf<Definition extends object>(
  definition: Definition,
  answers: () => object,
): Handlers<Definition> {
  const handlers = Object.keys(definition).map((name) => [
    name,
    (...given: unknown[]) => {
      const answer = (answers() as Record<string, ((...args: unknown[]) => unknown) | undefined>)[name];
      if (answer === undefined) throw new Error(`${name} is not in the script`);
      return answer(...given);
    },
  ]);
  return Object.fromEntries(handlers) as Handlers<Definition>;
}

/** An entity as its service renders it. */
export function aDocument(change: Partial<EntityDocument> = {}, json: object = {}): EntityDocument {
  return {
    id: 'e7vvn-90a62',
    parentId: 'qbyhw-yw493',
    form: 'FORM_DRAFT',
    revision: 4,
    json: Buffer.from(
      JSON.stringify({
        id: change.id ?? 'e7vvn-90a62',
        created: '2026-11-21T06:54:43.929200Z',
        updated: '2026-11-21T06:54:43.956667Z',
        revision_id: 4,
        ...json,
      }),
    ),
    isPublic: true,
    variant: '',
    doi: '',
    ...change,
  };
}
