import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EXPORT_MEDIA_TYPES } from '@kr/formats';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, Failed, Issue } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient, type Sent } from './story/http-client.ts';
import { type LogLine, newLogLines } from './story/new-log-lines.ts';
import { processIds } from './story/process-ids.ts';
import { publish, publishedRecord, upload } from './story/stories.ts';
import { withoutHints } from './story/without-hints.ts';

const UNKNOWN = 'zzzzz-zzz99';
/** Right in form and checksum. */
const UNKNOWN_TOKEN = 'kpat_000000000000000000000000000000002wjyrI';
const UNKNOWN_LINK = '0e8f6c5e-1c80-4a34-a2a3-4d5a12b3c4d5';

interface Ids {
  /** A record draft of the caller, without files. */
  draft: string;
  /** A record draft of the caller, with the pending file `pending.txt` and the completed file `a.txt`. */
  withFiles: string;
  published: string;
  packageDraft: string;
  publishedPackage: string;
  /** A draft of somebody else. */
  foreign: string;
  /** A restricted record of somebody else. */
  foreignPublished: string;
}

interface Refusal {
  name: string;
  method: string;
  /** A path below `/api`, or below the root where it starts with `!`. */
  path: string | ((ids: Ids) => string);
  as?: 'author' | 'nobody' | 'stranger';
  sent?: Sent | ((ids: Ids) => Sent);
  status: number;
  message: string;
  errors?: Issue[];
  headers?: Record<string, string>;
}

const JSON_TYPES = 'application/json, application/vnd.inveniordm.v1+json';
const BODY_TYPES = 'application/json, application/ld+json;profile="https://w3id.org/ro/crate/1.1"';
const NO_ROUTE =
  'The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.';
const NO_METHOD = 'The method is not allowed for the requested URL.';
const NO_ID = 'The persistent identifier does not exist.';
const NOT_REGISTERED = 'The persistent identifier is not registered.';
const DENIED = 'Permission denied.';
const WRONG = 'A validation error occurred.';
const WRONG_QUERY = 'Invalid querystring parameters.';
const NO_CREDENTIALS = 'Authentication required.';

const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const bodyError = (field: string, ...messages: string[]): Issue[] => [{ field, messages }];

const credentials: Refusal[] = [
  ...(
    [
      ['POST', '/records'],
      ['POST', '/packages'],
      ['GET', '/user/records'],
      ['GET', '/user/packages'],
      ['GET', (ids: Ids) => `/records/${ids.draft}/draft`],
      ['PUT', (ids: Ids) => `/records/${ids.draft}/draft`],
      ['GET', (ids: Ids) => `/records/${ids.withFiles}/draft/files/a.txt/content`],
      ['POST', (ids: Ids) => `/packages/${ids.packageDraft}/draft/actions/publish`],
      ['POST', (ids: Ids) => `/packages/${ids.packageDraft}/context/actions/associate`],
      ['GET', (ids: Ids) => `/records/${ids.published}/access/links`],
    ] as const
  ).map(
    ([method, path]): Refusal => ({
      name: 'no credentials where they are always needed',
      method,
      path,
      as: 'nobody',
      status: 401,
      message: NO_CREDENTIALS,
      headers: { 'www-authenticate': 'Bearer' },
    }),
  ),
  ...['/records', '/user/records', '/search'].map(
    (path): Refusal => ({
      name: 'an unknown token',
      method: 'GET',
      path,
      as: 'nobody',
      sent: { headers: { authorization: `Bearer ${UNKNOWN_TOKEN}` } },
      status: 401,
      message: 'The access token is unknown.',
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    }),
  ),
  {
    name: 'a token mistyped',
    method: 'GET',
    path: `/records?access_token=${UNKNOWN_TOKEN.slice(1)}`,
    as: 'nobody',
    status: 401,
    message: 'The access token is malformed.',
  },
  {
    name: 'a header with half a token',
    method: 'GET',
    path: '/records',
    as: 'nobody',
    sent: { headers: { authorization: 'Bearer' } },
    status: 401,
    message: 'The access token is malformed.',
  },
  {
    name: 'a scheme that we do not speak',
    method: 'GET',
    path: '/records',
    as: 'nobody',
    sent: { headers: { authorization: 'Basic dXNlcjpwYXNz' } },
    status: 401,
    message: 'The authentication scheme is unknown; use Bearer.',
  },
];

const routing: Refusal[] = [
  ...[
    '/nothing',
    '/records/',
    '/Records',
    '!/nothing',
    '/records/a/b/c',
    '/../etc/passwd',
    '/records/%ff',
    '/records/a%00b',
  ].map((path): Refusal => ({ name: 'an unknown URL', method: 'GET', path, status: 404, message: NO_ROUTE })),
  ...(
    [
      ['DELETE', '/records', 'OPTIONS, HEAD, GET, POST'],
      ['PUT', '/search', 'OPTIONS, HEAD, GET'],
      ['PATCH', (ids: Ids) => `/records/${ids.draft}/draft`, 'OPTIONS, HEAD, GET, PUT, POST, DELETE'],
      ['GET', (ids: Ids) => `/records/${ids.draft}/draft/actions/publish`, 'OPTIONS, POST'],
      ['POST', (ids: Ids) => `/records/${ids.published}/files`, 'OPTIONS, HEAD, GET'],
      ['PUT', (ids: Ids) => `/records/${ids.published}/files/a/content`, 'OPTIONS, HEAD, GET'],
      ['PUT', (ids: Ids) => `/records/${ids.published}`, 'OPTIONS, HEAD, GET, DELETE'],
      ['PUT', (ids: Ids) => `/records/${ids.published}/access/links/x`, 'OPTIONS, HEAD, GET, PATCH, DELETE'],
      ['GET', (ids: Ids) => `/packages/${ids.packageDraft}/context`, 'OPTIONS, PUT'],
    ] as const
  ).map(
    ([method, path, allow]): Refusal => ({
      name: 'a method that the route lacks',
      method,
      path,
      status: 405,
      message: NO_METHOD,
      headers: { allow },
    }),
  ),
];

const negotiation: Refusal[] = [
  ...(
    [
      ['/records', `${JSON_TYPES}, text/csv, application/geo+json`],
      [(ids: Ids) => `/records/${ids.published}/versions`, JSON_TYPES],
      [(ids: Ids) => `/records/${ids.published}`, `${JSON_TYPES}, ${EXPORT_MEDIA_TYPES.join(', ')}`],
    ] as const
  ).map(
    ([path, types]): Refusal => ({
      name: 'a representation that we do not have',
      method: 'GET',
      path,
      sent: { headers: { accept: 'image/png' } },
      status: 406,
      message: `Invalid 'Accept' header. Expected one of: ${types}`,
    }),
  ),
  {
    name: 'a body of another type',
    method: 'POST',
    path: '/records',
    sent: { raw: '<a/>', headers: { 'content-type': 'application/xml' } },
    status: 415,
    message: `Invalid 'Content-Type' header. Expected one of: ${BODY_TYPES}`,
  },
  {
    name: 'content without the type of bytes',
    method: 'PUT',
    path: (ids) => `/records/${ids.withFiles}/draft/files/pending.txt/content`,
    sent: { raw: 'x', headers: { 'content-type': 'text/plain' } },
    status: 415,
    message: "Invalid 'Content-Type' header. Expected one of: application/octet-stream",
  },
];

const bodies: Refusal[] = [
  ...['{', '{"a":}', 'nonsense', '{"a":1}}', "{'a':1}", '\u{feff}{'].map(
    (raw): Refusal => ({
      name: `a body that is no JSON: ${raw}`,
      method: 'POST',
      path: '/records',
      sent: { raw },
      status: 400,
      message: 'Unable to decode JSON data in request body.',
    }),
  ),
  ...['"abc"', '[1]', '7', 'true'].map(
    (raw): Refusal => ({
      name: `a body that is no object: ${raw}`,
      method: 'POST',
      path: '/records',
      sent: { raw },
      status: 400,
      message: WRONG,
      errors: bodyError('_schema', 'Invalid input type.'),
    }),
  ),
  {
    name: 'a body nested too deep',
    method: 'POST',
    path: '/records',
    sent: { raw: deep(10_000) },
    status: 400,
    message: WRONG,
    errors: [{ field: expect.any(String) as unknown as string, messages: ['Nested deeper than 32 levels.'] }],
  },
  {
    name: 'a body that reaches for a prototype',
    method: 'POST',
    path: '/records',
    sent: { raw: '{"metadata":{"__proto__":{"isAdmin":true}}}' },
    status: 400,
    message: WRONG,
    errors: bodyError('metadata.__proto__', 'Unknown field.'),
  },
  {
    name: 'a key twice',
    method: 'POST',
    path: '/records',
    sent: { raw: '{"metadata":{},"metadata":{}}' },
    status: 400,
    message: WRONG,
    errors: bodyError('metadata', 'Duplicate key.'),
  },
  {
    name: 'a body that is too large',
    method: 'POST',
    path: '/records',
    sent: { raw: JSON.stringify({ metadata: { title: 'x'.repeat(1_100_000) } }) },
    status: 413,
    message: 'The request body is larger than 1048576 bytes.',
  },
  {
    name: 'a compressed body',
    method: 'POST',
    path: '/records',
    sent: { raw: '{}', headers: { 'content-encoding': 'gzip' } },
    status: 415,
    message: "Invalid 'Content-Encoding' header. Expected one of: identity",
  },
];

const identifiers: Refusal[] = [
  ...['records', 'packages'].flatMap((kind) =>
    (
      [
        ['GET', ''],
        ['DELETE', ''],
        ['GET', '/draft'],
        ['PUT', '/draft'],
        ['DELETE', '/draft'],
        ['POST', '/draft'],
        ['POST', '/draft/actions/publish'],
        ['POST', '/draft/actions/files-import'],
        ['POST', '/draft/pids/doi'],
        ['GET', '/draft/files'],
        ['POST', '/draft/files'],
        ['GET', '/draft/files/a.txt'],
        ['GET', '/draft/files/a.txt/content'],
        ['PUT', '/draft/files/a.txt/content'],
        ['GET', '/files'],
        ['GET', '/files/a.txt/content'],
        ['GET', '/versions'],
        ['POST', '/versions'],
        ['GET', '/versions/latest'],
        ['GET', '/access/links'],
        ['POST', '/access/links'],
        ['PATCH', `/access/links/${UNKNOWN_LINK}`],
      ] as const
    ).map(
      ([method, path]): Refusal => ({
        name: 'an unknown identifier',
        method,
        path: `/${kind}/${UNKNOWN}${path}`,
        status: 404,
        message: NO_ID,
      }),
    ),
  ),
  ...["'; drop table draft; --", '0', 'A'.repeat(300), '..%2f..%2fetc', '💧'].map(
    (id): Refusal => ({
      name: 'an identifier of another form',
      method: 'GET',
      path: `/records/${id.includes('%') ? id : encodeURIComponent(id)}`,
      status: 404,
      message: NO_ID,
    }),
  ),
  {
    name: 'a package requested as a record',
    method: 'GET',
    path: (ids) => `/records/${ids.publishedPackage}`,
    status: 404,
    message: 'Not found.',
  },
  {
    name: 'a record requested as a package',
    method: 'GET',
    path: (ids) => `/packages/${ids.published}`,
    status: 404,
    message: 'Not found.',
  },
  ...(
    [
      ['GET', ''],
      ['GET', '/versions/latest'],
      ['POST', '/versions'],
      ['DELETE', ''],
    ] as const
  ).map(
    ([method, path]): Refusal => ({
      name: 'what is not published',
      method,
      path: (ids) => `/records/${ids.draft}${path}`,
      status: 404,
      message: NOT_REGISTERED,
    }),
  ),
  {
    name: 'files of an unpublished record',
    method: 'GET',
    path: (ids) => `/records/${ids.withFiles}/files`,
    status: 404,
    message: 'Not found.',
  },
  ...(
    [
      ['GET', '/draft'],
      ['PUT', '/draft'],
      ['DELETE', '/draft'],
    ] as const
  ).map(
    ([method, path]): Refusal => ({
      name: 'a draft that is not there',
      method,
      path: (ids) => `/records/${ids.published}${path}`,
      status: 404,
      message: 'Not found.',
    }),
  ),
  {
    name: 'a file that is not there',
    method: 'GET',
    path: (ids) => `/records/${ids.withFiles}/draft/files/nothing.txt`,
    status: 404,
    message: "Record '{withFiles}' has no file 'nothing.txt'.",
  },
  ...(['GET', 'PATCH', 'DELETE'] as const).map(
    (method): Refusal => ({
      name: 'an access link that is not there',
      method,
      path: (ids) => `/records/${ids.draft}/access/links/${UNKNOWN_LINK}`,
      sent: method === 'PATCH' ? { json: { permission: 'view' } } : {},
      status: 404,
      message: 'No secret link found with the given ID.',
    }),
  ),
];

const rights: Refusal[] = [
  ...(
    [
      ['GET', '/draft'],
      ['PUT', '/draft'],
      ['DELETE', '/draft'],
      ['POST', '/draft/actions/publish'],
      ['POST', '/draft/pids/doi'],
      ['GET', '/access/links'],
      ['POST', '/access/links'],
    ] as const
  ).map(
    ([method, path]): Refusal => ({
      name: 'the draft of somebody else',
      method,
      path: (ids) => `/records/${ids.foreign}${path}`,
      status: 403,
      message: DENIED,
    }),
  ),
  ...(
    [
      ['GET', ''],
      ['GET', '/files'],
      ['GET', '/versions/latest'],
      ['POST', '/draft'],
      ['POST', '/versions'],
    ] as const
  ).map(
    ([method, path]): Refusal => ({
      name: 'the restricted record of somebody else',
      method,
      path: (ids) => `/records/${ids.foreignPublished}${path}`,
      status: 403,
      message: DENIED,
    }),
  ),
  {
    name: 'a restricted record, for anonymous readers',
    method: 'GET',
    path: (ids) => `/records/${ids.foreignPublished}`,
    as: 'nobody',
    status: 403,
    message: DENIED,
  },
  {
    name: 'the removal of a published record, even by its owner',
    method: 'DELETE',
    path: (ids) => `/records/${ids.published}`,
    status: 403,
    message: DENIED,
  },
  {
    name: 'somebody else’s draft for one’s own package',
    method: 'POST',
    path: (ids) => `/packages/${ids.packageDraft}/context/actions/associate`,
    sent: (ids) => ({ json: { records: [{ id: ids.foreign }] } }),
    status: 403,
    message: DENIED,
    errors: [{ field: 'records.0.id', messages: [DENIED], record: '{foreign}' }],
  },
  {
    name: 'files where files are not enabled',
    method: 'POST',
    path: (ids) => `/records/${ids.draft}/draft/files`,
    sent: { json: [{ key: 'a' }] },
    status: 403,
    message: 'Files are not enabled.',
  },
];

const queries: Refusal[] = [
  ...['/records', '/packages', '/search', '/user/records', '/user/packages'].flatMap((path): Refusal[] => [
    ...(
      [
        ['sort=sideways', '_schema', "Invalid sort option 'sideways'."],
        ['sort=', '_schema', "Invalid sort option ''."],
        ['page=0', 'page', 'Must be greater than or equal to 1.'],
        ['page=-1', 'page', 'Must be greater than or equal to 1.'],
        ['page=two', 'page', 'Not a valid integer.'],
        ['size=0', 'size', 'Must be greater than or equal to 1.'],
        ['size=', 'size', 'Not a valid integer.'],
        ['size=1.5', 'size', 'Not a valid integer.'],
        ['size=1001', 'size', 'Page size cannot be greater than 1000.'],
        ['allversions=perhaps', 'allversions', 'Not a valid boolean.'],
      ] as const
    ).map(
      ([query, field, message]): Refusal => ({
        name: 'a value that the parameter cannot have',
        method: 'GET',
        path: `${path}?${query}`,
        status: 400,
        message: WRONG,
        errors: bodyError(field, message),
      }),
    ),
    ...['page=1001&size=10', 'page=101&size=100'].map(
      (query): Refusal => ({
        name: 'a page behind the last that there is',
        method: 'GET',
        path: `${path}?${query}`,
        status: 400,
        message: WRONG_QUERY,
        errors: bodyError(
          'page',
          'Only the first 10000 hits can be reached by pages; cursor=* goes through all of them.',
        ),
      }),
    ),
    ...[
      'bbox=1,2,3',
      'bbox=a,b,c,d',
      'bbox=0,91,1,0',
      'bbox=-181,1,0,0',
      'bbox=nan,1,2,0',
      'suggest=x',
      'q=a&suggest=x',
      'q=%00',
    ].map(
      (query): Refusal => ({
        name: 'a query that makes no sense',
        method: 'GET',
        path: `${path}?${query}`,
        status: 400,
        message: WRONG_QUERY,
      }),
    ),
    ...['title:(((', '"half', 'a AND', '[1 TO', 'created:[x TO y]', '/(/'].map(
      (q): Refusal => ({
        name: 'a query that cannot be read',
        method: 'GET',
        path: `${path}?q=${encodeURIComponent(q)}`,
        status: 400,
        message: expect.stringContaining('Invalid query string syntax.') as unknown as string,
        errors: expect.anything() as unknown as Issue[],
      }),
    ),
  ]),
];

const accessLinks: Refusal[] = (
  [
    [{}, 'permission', 'An access permission level is required'],
    [{ permission: 'own' }, 'permission', 'Must be one of: view, preview, edit.'],
    [{ permission: null }, 'permission', 'Field may not be null.'],
    [{ permission: 7 }, 'permission', 'Not a valid string.'],
    [{ permission: 'view', colour: 'red' }, 'colour', 'Unknown field.'],
    [{ permission: 'view', expires_at: '' }, 'expires_at', 'Not a valid datetime.'],
    [{ permission: 'view', expires_at: 'soon' }, 'expires_at', 'Not a valid datetime.'],
    [
      { permission: 'view', expires_at: '2020-01-01T00:00:00' },
      'expires_at',
      'Expiration date must be set to the future',
    ],
  ] as const
).map(
  ([json, field, message]): Refusal => ({
    name: `a link of ${JSON.stringify(json)}`,
    method: 'POST',
    path: (ids) => `/records/${ids.draft}/access/links`,
    sent: { json },
    status: 400,
    message: WRONG,
    errors: bodyError(field, message),
  }),
);

const files: Refusal[] = [
  {
    name: 'an object instead of a list of files',
    method: 'POST',
    path: (ids) => `/records/${ids.withFiles}/draft/files`,
    sent: { json: { key: 'a' } },
    status: 400,
    message: WRONG,
    errors: bodyError('_schema', 'Invalid input type.'),
  },
  {
    name: 'a file without a key',
    method: 'POST',
    path: (ids) => `/records/${ids.withFiles}/draft/files`,
    sent: { json: [{}] },
    status: 400,
    message: WRONG,
    errors: bodyError('0.key', 'Missing data for required field.'),
  },
  {
    name: 'a key that is taken',
    method: 'POST',
    path: (ids) => `/records/${ids.withFiles}/draft/files`,
    sent: { json: [{ key: 'b.txt' }, { key: 'a.txt' }] },
    status: 400,
    message: 'File with key a.txt already exists.',
  },
  {
    name: 'content of a file that never started',
    method: 'PUT',
    path: (ids) => `/records/${ids.withFiles}/draft/files/nothing.txt/content`,
    sent: { bytes: Buffer.from('x') },
    status: 404,
    message: "Record '{withFiles}' has no file 'nothing.txt'.",
  },
  {
    name: 'publishing with an unfinished file',
    method: 'POST',
    path: (ids) => `/records/${ids.withFiles}/draft/actions/publish`,
    status: 400,
    message: WRONG,
    errors: [
      {
        field: 'files',
        messages: ['One or more files have not completed their transfer, please wait.'],
      },
    ],
  },
];

const revisions: Refusal[] = [
  {
    name: 'another revision than the one that was read',
    method: 'PUT',
    path: (ids) => `/records/${ids.draft}/draft`,
    sent: { json: {}, headers: { 'if-match': '"99"' } },
    status: 412,
    message: expect.stringMatching(
      /^Revision id provided\(99\) doesn't match record's one\(\d+\)$/,
    ) as unknown as string,
  },
  {
    name: 'a revision that is none',
    method: 'PUT',
    path: (ids) => `/records/${ids.draft}/draft`,
    sent: { json: {}, headers: { 'if-match': 'soon' } },
    status: 400,
    message: WRONG,
    errors: bodyError(
      'if_match',
      'Not a valid integer.',
      'Send If-Match with a revision, such as "4", or with *.',
    ),
  },
];

/** For the titles: `{draft}` instead of the id of the draft. */
const NAMES: Ids = {
  draft: '{draft}',
  withFiles: '{withFiles}',
  published: '{published}',
  packageDraft: '{packageDraft}',
  publishedPackage: '{publishedPackage}',
  foreign: '{foreign}',
  foreignPublished: '{foreignPublished}',
};

let system: SharedSystem;
let started: Record<string, number | undefined>;
let loggedLines: () => Promise<LogLine[]>;
let callers: Record<'author' | 'nobody' | 'stranger', HttpClient>;
let ids: Ids;
beforeAll(async () => {
  system = await sharedSystem();
  started = processIds(system);
  loggedLines = await newLogLines(system);
  const { token } = await system.createUser('stranger');
  const author = httpClient(system.baseUrl, system.token);
  const stranger = httpClient(system.baseUrl, token);
  callers = { author, nobody: httpClient(system.baseUrl), stranger };
  const draftOf = (client: HttpClient, path: string, json: object) =>
    client.sure<Entity>('POST', path, { json });
  const restricted = { access: { record: 'restricted', files: 'restricted' } };

  const withFiles = await draftOf(author, '/records', recordDocument('With files', { withFiles: true }));
  await upload(author, withFiles, 'a.txt', Buffer.from('a'));
  await author.sure('POST', `/records/${withFiles.id}/draft/files`, { json: [{ key: 'pending.txt' }] });
  ids = {
    draft: (await draftOf(author, '/records', recordDocument('Draft'))).id,
    withFiles: withFiles.id,
    published: (await publishedRecord(author, 'Published')).id,
    packageDraft: (await draftOf(author, '/packages', packageDocument('Package draft'))).id,
    publishedPackage: (await publish(author, await draftOf(author, '/packages', packageDocument('Package'))))
      .id,
    foreign: (await draftOf(stranger, '/records', recordDocument('Foreign draft'))).id,
    foreignPublished: (
      await publish(stranger, await draftOf(stranger, '/records', recordDocument('Foreign', restricted)))
    ).id,
  };
});
afterAll(() => system?.stop());

/** Names of the table's entities in expected texts become their ids. */
function filled<T>(value: T): T {
  if (typeof value === 'string') {
    return value.replace(/\{(\w+)\}/g, (whole, name: keyof Ids) => ids[name] ?? whole) as T;
  }
  if (Array.isArray(value)) return value.map(filled) as T;
  if (value === null || typeof value !== 'object' || '$$typeof' in value) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner)])) as T;
}

describe.each(
  Object.entries({
    credentials,
    routing,
    negotiation,
    bodies,
    identifiers,
    rights,
    queries,
    accessLinks,
    files,
    revisions,
  }),
)('refusals: %s', (_, refusals) => {
  test.each(
    refusals.map((refusal) => {
      const path = typeof refusal.path === 'string' ? refusal.path : refusal.path(NAMES);
      return {
        ...refusal,
        of: path,
        title: `${refusal.method} ${path.slice(0, 60)}: ${refusal.name.slice(0, 80)}`,
      };
    }),
  )('$title', async ({ method, path, as = 'author', sent = {}, status, message, errors, headers = {} }) => {
    const asked = typeof path === 'string' ? path : path(ids);
    const target = asked.startsWith('!') ? `${system.baseUrl}${asked.slice(1)}` : asked;
    const answer = await callers[as].call<Failed>(
      method,
      target,
      typeof sent === 'function' ? sent(ids) : sent,
    );
    const names = ['content-type', ...Object.keys(headers)];
    expect({
      status: answer.status,
      body: withoutHints(answer.body),
      headers: Object.fromEntries(names.map((name) => [name, answer.headers.get(name)])),
      trace: /\bat .*:\d+:\d+|node_modules|\.ts\b|postgres|prisma/i.test(answer.text),
    }).toEqual({
      status,
      body: {
        status,
        message: filled(message),
        code: expect.stringMatching(/^[a-z_]+$/),
        ...(errors === undefined ? {} : { errors: filled(errors) }),
      },
      headers: { 'content-type': 'application/json', ...headers },
      trace: false,
    });
  });
});

test('nothing of all this was a surprise to any service, and no process was restarted', async () => {
  const surprises = (await loggedLines()).filter(({ line }) =>
    /"level":(50|60)|"level":"(error|fatal)"|ERROR|FATAL/.test(line),
  );
  expect(surprises).toEqual([]);
  expect(processIds(system)).toEqual(started);
});
