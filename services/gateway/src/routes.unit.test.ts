import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import type { Call, JsonReply } from './http/endpoint.ts';
import { realRoutes } from './routes-fixture.ts';
import { openapiJson } from './site/openapi.ts';

interface Operation {
  operationId: string;
  security?: unknown[];
  parameters?: { $ref?: string }[];
  requestBody?: unknown;
  responses: Record<string, { $ref?: string }>;
}

/** A parameter of an operation, or one that it refers to. */
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}

const table = realRoutes().map((route) => ({
  ...route,
  name: `${route.method} ${route.path.replaceAll(/:(\w+)/g, '{$1}')}`,
}));

const { body } = (await openapiJson(realRoutes)({ baseUrl: '' } as Call)) as JsonReply;
const description = body as Description;

const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    ...operation,
  })),
);

/** The facets of searches, in the order of the answer. */
const THEMES = [
  'category',
  'record_type',
  'resource_type',
  'geo_work_programme_activity',
  'target_audience',
  'engagement_priority',
  'subject',
];

/** HEAD of an upload answers 423 instead of 429 and 503. */
function isUploadHead(name: string): boolean {
  return name.startsWith('HEAD ') && name.includes('/tus/');
}

function resolved(response: { $ref?: string }): unknown {
  return response.$ref === undefined
    ? response
    : description.components['responses']?.[response.$ref.replace('#/components/responses/', '')];
}

describe('the description of the interface', () => {
  test('has every route, and no other', () => {
    expect(operations.map(({ name }) => name).sort()).toEqual(table.map(({ name }) => name).sort());
  });

  test('states for every route whether it is open and whether it takes a body', () => {
    const described = operations.map(({ name, security, requestBody }) => [
      name,
      security !== undefined,
      requestBody !== undefined,
    ]);
    const is = table.map(({ name, auth, body: taken }) => [name, auth === 'open', taken !== undefined]);
    expect(described.sort()).toEqual(is.sort());
  });

  test('has every parameter of the path', () => {
    const lacking = operations.filter(({ name, parameters = [] }) => {
      const inPath = parameters
        .map(
          ({ $ref = '' }) =>
            description.components['parameters']?.[$ref.split('/').at(-1) ?? ''] as Parameter,
        )
        .filter((parameter) => parameter.in === 'path');
      const named = [...name.matchAll(/{(\w+)}/g)].map(([, parameter]) => parameter);
      return inPath.map((parameter) => parameter.name).join() !== named.join();
    });
    expect(lacking.map(({ name }) => name)).toEqual([]);
  });

  test('has the idempotency key on every POST, and nowhere else', () => {
    const keyed = operations.filter(({ parameters = [] }) =>
      parameters.some(({ $ref }) => $ref === '#/components/parameters/IdempotencyKey'),
    );
    const posts = operations.filter(({ name }) => name.startsWith('POST '));
    expect(keyed.map(({ name }) => name)).toEqual(posts.map(({ name }) => name));
  });

  test('has limits and outages with Retry-After on every operation, save HEAD of an upload', () => {
    const lacking = operations.filter(({ responses }) => !('429' in responses && '503' in responses));
    expect(lacking.map(({ name }) => name)).toEqual(operations.map(({ name }) => name).filter(isUploadHead));
    const { TooManyRequests, Unavailable, Locked, UploadBusy } = description.components['responses'] ?? {};
    const headers = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } };
    for (const response of [TooManyRequests, Unavailable, Locked, UploadBusy]) {
      expect(response).toMatchObject({ headers });
    }
  });

  test('has If-Match and 412 on every read of one entity', () => {
    const reads = operations.filter(
      ({ name, responses }) =>
        name.startsWith('GET ') && /(?:Entity|Published|Draft)200$/.test(responses['200']?.$ref ?? ''),
    );
    expect(reads.length).toBe(6);
    for (const { parameters, responses } of reads) {
      expect(parameters).toContainEqual({ $ref: '#/components/parameters/IfMatch' });
      expect(responses).toHaveProperty('412');
    }
  });

  test('has `prettyprint` on every operation that answers with JSON, and `expand` where an entity is shown', () => {
    const parametersOf = (parameter: string) =>
      operations
        .filter(({ parameters = [] }) =>
          parameters.some(({ $ref }) => $ref === `#/components/parameters/${parameter}`),
        )
        .map(({ name }) => name);
    const answers = (pattern: RegExp) =>
      operations
        .filter(({ responses }) =>
          Object.entries(responses).some(
            ([status, response]) =>
              status.startsWith('2') && pattern.test(JSON.stringify(resolved(response))),
          ),
        )
        .map(({ name }) => name);
    expect(parametersOf('prettyprint')).toEqual(answers(/"application\/json"/));
    expect(parametersOf('expand')).toEqual(answers(/schemas\/(?:Published)?Entity"/));
  });

  test.each<[string, string[], string[]]>([
    ['published entities', ['GET /api/records', 'GET /api/packages', 'GET /api/search'], THEMES],
    ['own entities', ['GET /api/user/records', 'GET /api/user/packages', 'GET /api/user/search'], THEMES],
    ['resources', ['GET /api/packages/{id}/resources'], ['access_status', 'resource_type', 'base_type']],
    [
      'resources of drafts',
      ['GET /api/packages/{id}/draft/resources', 'GET /api/packages/context/{parentId}/resources'],
      ['access_status', 'is_published', 'resource_type', 'base_type'],
    ],
  ])('has the facets of listings of %s, and no other', (_, names, facets) => {
    const others = [
      'Id',
      'ParentId',
      'q',
      'bbox',
      'sort',
      'sortResources',
      'sortOwn',
      'size',
      'page',
      'cursor',
      'allversions',
    ];
    const listings = operations.filter(({ name }) => names.includes(name));
    expect(listings.length).toBe(names.length);
    for (const { parameters = [] } of listings) {
      const filters = parameters
        .map(({ $ref }) => $ref?.replace('#/components/parameters/', '') ?? '')
        .filter((name) => ![...others, 'prettyprint', 'resultFormat'].includes(name));
      expect(filters).toEqual(facets);
    }
  });

  test('names no operation twice', () => {
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test('refers to nothing that is not there', () => {
    const references = JSON.stringify(description).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g);
    const missing = [...references].filter(
      ([, part = '', name = '']) => description.components[part]?.[name] === undefined,
    );
    expect(missing.map(([reference]) => reference)).toEqual([]);
  });
});

test('no two rows are the same', () => {
  const names = table.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test.each(['alerts.yaml', 'dashboard.json'])(
  'durations of requests in %s leave out transfers of bytes, and nothing else',
  async (file) => {
    const folder = new URL('../../../deploy/helm/knowledge-repository/observability/', import.meta.url);
    const expressions = await readFile(new URL(file, folder), 'utf8');
    const excluded = new Set(
      [...expressions.matchAll(/http_server_request_duration_seconds_bucket\{route!~\\?"([^"\\]*)/g)].map(
        ([, pattern]) => pattern,
      ),
    );
    expect(excluded.size).toBe(1);
    // Prometheus matches the whole label.
    const isExcluded = new RegExp(`^(?:${[...excluded][0]})$`);
    const transfers = table.filter((row) => row.lane === 'transfer' || row.protocol === 'tus');
    const leftOut = table.filter(({ path }) => isExcluded.test(path));
    expect(leftOut.map(({ name }) => name)).toEqual(transfers.map(({ name }) => name));
  },
);
