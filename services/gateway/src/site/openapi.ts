import { readFile } from 'node:fs/promises';
import { metadataJsonSchema } from '@kr/metadata';
import { type Endpoint, json } from '../http/endpoint.ts';
import { changesIndex, type Route } from '../http/route.ts';

const COMPONENTS = new URL('../../openapi.yaml', import.meta.url);

/** The response of each status, unless the route names another. */
const USUAL_RESPONSES: Readonly<Record<number, string>> = {
  304: 'NotModified',
  400: 'Invalid',
  401: 'Unauthenticated',
  403: 'Forbidden',
  404: 'NotFound',
  406: 'NotAcceptable',
  408: 'TooSlow',
  409: 'Locked',
  410: 'Gone',
  412: 'Changed',
  413: 'TooLarge',
  415: 'UnknownMediaType',
  422: 'KeyReused',
  429: 'TooManyRequests',
  503: 'Unavailable',
  507: 'Full',
};

const OPEN = [{}, { personalAccessToken: [] }, { accessLink: [] }];

interface Description {
  paths: Record<string, Record<string, object>>;
  components: { schemas: { Metadata: object; PublishedMetadata: object } };
}

/** GET /api/openapi.yaml: the description of the interface. */
export function openapiYaml(routes: () => readonly Route[]): Endpoint {
  const text = once(async () => {
    const { stringify } = await import('yaml');
    return stringify(await describe(routes()), { aliasDuplicateObjects: false });
  });
  return async () => ({ as: 'text', status: 200, type: 'application/yaml', text: await text() });
}

/** GET /api/openapi.json: the same, with this host as its server. */
export function openapiJson(routes: () => readonly Route[]): Endpoint {
  const description = once(() => describe(routes()));
  return async ({ baseUrl }) => json(200, { ...(await description()), servers: [{ url: baseUrl }] });
}

/** The OpenAPI document: operations from the routes, metadata fields from the metadata schema, everything else as written. */
async function describe(routes: readonly Route[]): Promise<Description> {
  // Loaded at the first request: requests are rare, and the parser is large.
  const { parse } = await import('yaml');
  const written = parse(await readFile(COMPONENTS, 'utf8')) as Description;
  const { properties, required } = metadataJsonSchema('record');
  const { components } = written;
  const { schemas } = components;
  // Written out: generators of clients do not read `required` beside a reference.
  const typed = {
    Metadata: { ...schemas.Metadata, properties },
    PublishedMetadata: { ...schemas.PublishedMetadata, properties, required },
  };
  return {
    ...written,
    paths: paths(routes),
    components: { ...components, schemas: { ...schemas, ...typed } },
  };
}

function paths(routes: readonly Route[]): Description['paths'] {
  const byPath = Object.entries(Object.groupBy(routes, ({ path }) => path.replaceAll(/:(\w+)/g, '{$1}')));
  return Object.fromEntries(
    byPath.map(([path, rows = []]) => [
      path,
      Object.fromEntries(rows.map((route) => [route.method.toLowerCase(), operation(route)])),
    ]),
  );
}

function operation(route: Route): object {
  const { auth, tag, operationId, summary, description, requestBody } = route;
  const parameters = parametersOf(route);
  return {
    tags: [tag],
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(auth === 'open' ? { security: OPEN } : {}),
    ...(parameters.length === 0
      ? {}
      : { parameters: parameters.map((name) => reference('parameters', name)) }),
    ...(requestBody === undefined ? {} : { requestBody: reference('requestBodies', requestBody) }),
    responses: responsesOf(route, parameters),
  };
}

function parametersOf(route: Route): string[] {
  const { method, path } = route;
  const inPath = [...path.matchAll(/:(.)(\w*)/g)].map(([, first = '', rest]) => first.toUpperCase() + rest);
  const isJson = answersJson(route);
  const isEntity = isJson && (route.produces === 'entity' || route.produces === 'published');
  return [
    ...inPath,
    ...(route.parameters ?? []),
    ...(isEntity && method === 'GET' ? ['IfNoneMatch', 'IfMatch'] : []),
    ...(method === 'POST' ? ['IdempotencyKey'] : []),
    ...(changesIndex(route) ? ['WaitForIndex'] : []),
    ...(isEntity ? ['expand'] : []),
    ...(isJson ? ['prettyprint'] : []),
  ];
}

function responsesOf(route: Route, parameters: readonly string[]): object {
  const { method, auth, body, protocol, errors = [], responses } = route;
  const hasLimits = !(protocol === 'tus' && method === 'HEAD');
  const statuses = [
    ...errors,
    ...(method === 'GET' && parameters.includes('IfNoneMatch') ? [304] : []),
    ...(auth !== 'open' ? [401] : []),
    ...(answersJson(route) ? [406] : []),
    ...(method === 'POST' ? [409, 422] : []),
    ...(parameters.includes('IfMatch') ? [412] : []),
    ...(body === 'json' || body === 'bytes' ? [413, 415] : []),
    ...(hasLimits ? [429, 503] : []),
  ];
  const names = { ...Object.fromEntries(statuses.map((status) => [status, USUAL_RESPONSES[status] ?? ''])) };
  const all = Object.entries({ ...names, ...responses, default: 'Failure' });
  return Object.fromEntries(all.map(([status, name]) => [status, reference('responses', name)]));
}

/** Answers without a body, and those with other bodies, are not JSON. */
function answersJson({ produces, responses }: Route): boolean {
  return produces !== 'any' && ['200', '201', '202'].some((status) => status in responses);
}

function reference(part: 'parameters' | 'requestBodies' | 'responses', name: string): { $ref: string } {
  return { $ref: `#/components/${part}/${name}` };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make().catch((cause: unknown) => {
      // A file that could not be read now may be readable later.
      made = undefined;
      throw cause;
    });
    return made;
  };
}
