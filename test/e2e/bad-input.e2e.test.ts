import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import pg from 'pg';
import { metadataWith, type Position, schemaPositions } from './bad-input/schema-positions.ts';
import type { Entity, Failed } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type Answer, type HttpClient, httpClient, type Sent } from './story/http-client.ts';
import { type LogLine, newLogLines } from './story/new-log-lines.ts';
import { processIds } from './story/process-ids.ts';
import { publish } from './story/stories.ts';

const KINDS = [
  { all: '/records', kind: 'record', document: recordDocument },
  { all: '/packages', kind: 'package', document: packageDocument },
] as const;
type Kind = (typeof KINDS)[number];

let system: SharedSystem;
let started: Record<string, number | undefined>;
let loggedLines: () => Promise<LogLine[]>;
let author: HttpClient;
let stranger: HttpClient;
let databases: pg.Client[];
const drafts = new Map<string, Entity>();

beforeAll(async () => {
  system = await sharedSystem();
  started = processIds(system);
  loggedLines = await newLogLines(system);
  author = httpClient(system.baseUrl, system.token);
  stranger = httpClient(system.baseUrl, (await system.createUser('stranger')).token);
  databases = [];
  for (const part of ['records', 'packages'] as const) {
    const client = new pg.Client(system.databaseUrls[part]);
    await client.connect();
    databases.push(client);
  }
  for (const { all, document } of KINDS) {
    drafts.set(all, await author.sure<Entity>('POST', all, { json: document('Untouched') }));
  }
});
afterAll(async () => {
  await Promise.all((databases ?? []).map((client) => client.end()));
  await system?.stop();
});

function draftOf({ all }: Kind): string {
  const draft = drafts.get(all);
  if (draft === undefined) throw new Error(`no draft of ${all} was made`);
  return `${all}/${draft.id}/draft`;
}

/** The members that change with every write of either kind. */
async function state(): Promise<unknown[]> {
  const counted = 'select count(*), sum(revision), max(updated_at) from';
  return Promise.all(
    databases.map(async (client) => [
      (await client.query(`${counted} draft`)).rows,
      (await client.query(`${counted} version`)).rows,
    ]),
  );
}

/** Any answer; no request of a megabyte may take longer than the client waits. */
function ask(method: string, target: string, sent: Sent): Promise<Answer<Partial<Failed & Entity>>> {
  return author.call(method, target, sent);
}

/** Sends the same body to create and to update, of both kinds. */
const DOORS = KINDS.flatMap((kind) => [
  { door: `POST ${kind.all}`, kind, send: (sent: Sent) => ask('POST', kind.all, sent) },
  { door: `PUT ${kind.all}`, kind, send: (sent: Sent) => ask('PUT', draftOf(kind), sent) },
]);

/** Where a problem of a whole object is reported: at `_schema` of it, or again at its own name. */
function holderOf(field: string): string {
  return field.replace(/\._schema$/, '').replace(/\.(\w+)\.\1$/, '.$1');
}

/** The defect of an answer to a body with a fault at `field`: it must name the field or its container. */
function faultOf(
  { status, body, text }: Answer<Partial<Failed & Entity>>,
  field: string,
): string | undefined {
  if (status !== 200 && status !== 201 && status !== 400) return `${status}: ${text.slice(0, 200)}`;
  const named = (body.errors ?? []).some(
    (issue) => issue.field.startsWith(field) || field.startsWith(holderOf(issue.field)),
  );
  return named ? undefined : `${status}, ${field} is not named: ${JSON.stringify(body.errors)}`;
}

async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items].reverse();
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

const WRONG_VALUES: Record<string, unknown[]> = {
  string: [7, true, [], ['a'], {}, { a: 1 }, null],
  array: [7, true, 'text', {}, { a: 1 }, null, [null], [[]], [7], [true]],
  object: [7, true, 'text', [], [{}], null, { '': 1 }, { unknown_key: 1 }],
};

function wrongValues({ schema }: Position): unknown[] {
  return WRONG_VALUES[String(schema['type'])] ?? [];
}

/** A geometry is read by its type: without one, its other members cannot be invalid. */
function judged(path: Position['path']): Position['path'] {
  const start = path.indexOf('geometry');
  return start === -1 ? path : path.slice(0, start + 1);
}

interface Placed {
  path: Position['path'];
  value: unknown;
}

/** Deals values to bodies, so that none is in the way of another: each member of the metadata has one in a body. */
function bodiesOf(placed: readonly Placed[]): { metadata: object; held: Placed[] }[] {
  const ofMembers = [...Map.groupBy(placed, ({ path }) => path[0]).values()];
  const longest = Math.max(...ofMembers.map(({ length }) => length));
  return Array.from({ length: longest }, (_, number) => {
    const held = ofMembers.flatMap((values) => values[number] ?? []);
    return { metadata: Object.assign({}, ...held.map(({ path, value }) => metadataWith(path, value))), held };
  });
}

describe('metadata', () => {
  test.each(KINDS)('a wrong type at any path of $all is named', async (kind) => {
    const faults: string[] = [];
    const cases = schemaPositions(kind.kind).flatMap((position) =>
      wrongValues(position).map((value) => ({ path: position.path, value })),
    );
    await inTurns(bodiesOf(cases), async ({ metadata, held }) => {
      const answer = await ask('PUT', draftOf(kind), { json: { metadata } });
      for (const { path, value } of held) {
        const fault = faultOf(answer, ['metadata', ...judged(path)].join('.'));
        if (fault !== undefined) faults.push(`${path.join('.')} = ${JSON.stringify(value)}: ${fault}`);
      }
    });
    expect(faults).toEqual([]);
  });

  test.each(KINDS)('an odd text at any path of $all does no harm', async (kind) => {
    const texts = [
      'a\u0000b',
      '\u0000',
      '\u202e\ufeff\u{10ffff}',
      '',
      ' ',
      '__proto__',
      'NaN',
      '-1',
      '2024-02-30',
    ];
    const cases = schemaPositions(kind.kind)
      .filter(({ schema }) => schema['type'] === 'string')
      .flatMap(({ path }) => texts.map((value) => ({ path, value })));
    const faults: string[] = [];
    await inTurns(bodiesOf(cases), async ({ metadata }) => {
      const { status } = await ask('PUT', draftOf(kind), { json: { metadata } });
      if (status !== 200 && status !== 400) faults.push(`${JSON.stringify(metadata)}: ${status}`);
    });
    expect(faults).toEqual([]);
  });
});

/** A fault and the field that the answer has to name. */
const FAULTS: [name: string, body: string | object, field: string][] = [
  ...(
    [
      ['no such day', '2024-02-30'],
      ['no such month', '2024-13'],
      ['a year of five digits', '12024'],
      ['a day of the wrong form', '30.02.2024'],
      ['an interval that ends before it starts', '2024/2023'],
      ['an endless interval', '2024/..'],
      ['a long date', '2'.repeat(60_000)],
    ] as const
  ).flatMap(([name, date]): [string, object, string][] => [
    [`publication date: ${name}`, { metadata: { publication_date: date } }, 'metadata.publication_date'],
    [`date: ${name}`, { metadata: { dates: [{ date, type: { id: 'other' } }] } }, 'metadata.dates.0.date'],
  ]),
  ...(
    [
      ['a point beyond the pole', { type: 'Point', coordinates: [0, 91] }],
      ['a point beyond the date line', { type: 'Point', coordinates: [181, 0] }],
      ['a point of one number', { type: 'Point', coordinates: [1] }],
      ['a point of texts', { type: 'Point', coordinates: ['1', '2'] }],
      ['a point at NaN', { type: 'Point', coordinates: ['NaN', 0] }],
      ['a point of nothing', { type: 'Point', coordinates: [] }],
      [
        'an open ring',
        {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [1, 1],
              [1, 0],
            ],
          ],
        },
      ],
      ['a line of one position', { type: 'LineString', coordinates: [[0, 0]] }],
      ['an unknown type', { type: 'Circle', coordinates: [0, 0] }],
      ['no coordinates', { type: 'Point' }],
      ['coordinates that are an object', { type: 'Point', coordinates: {} }],
      ['a collection that is none', { type: 'GeometryCollection', geometries: {} }],
      ['a collection with a broken part', { type: 'GeometryCollection', geometries: [{ type: 'Point' }] }],
    ] as const
  ).map(([name, geometry]): [string, object, string] => [
    `geometry: ${name}`,
    { metadata: { locations: { features: [{ geometry }] } } },
    'metadata.locations.features.0.geometry',
  ]),
  ['a number beyond all numbers', '{"metadata":{"title":1e400}}', 'metadata.title'],
  [
    'a position beyond all numbers',
    '{"metadata":{"locations":{"features":[{"geometry":{"type":"Point","coordinates":[1e400,0]}}]}}}',
    'metadata.locations.features.0.geometry',
  ],
  ['half a surrogate pair', '{"metadata":{"title":"a\\ud800b"}}', 'metadata.title'],
  ['the other half', '{"metadata":{"title":"\\udc00"}}', 'metadata.title'],
  ['half a pair as a key', '{"metadata":{"\\ud800":1}}', 'metadata'],
  ['a prototype', '{"metadata":{"__proto__":{"a":1}}}', 'metadata.__proto__'],
  [
    'a constructor',
    '{"metadata":{"creators":[{"constructor":{"prototype":{}}}]}}',
    'metadata.creators.0.constructor',
  ],
  ['a key twice', '{"metadata":{"title":"abc","title":"def"}}', 'metadata.title'],
  ['a key twice, once escaped', '{"metadata":{"title":"abc","titl\\u0065":"def"}}', 'metadata.title'],
  ['33 levels', `{"metadata":{"title":${'['.repeat(31)}1${']'.repeat(31)}}}`, 'metadata.title'],
  ['an unknown vocabulary id', { metadata: { languages: [{ id: 'no-such' }] } }, 'metadata.languages.0'],
  [
    'a vocabulary id of many characters',
    { metadata: { languages: [{ id: 'x'.repeat(60_000) }] } },
    'metadata.languages.0',
  ],
  ['metadata that is a list', { metadata: [] }, 'metadata'],
  ['metadata that is a text', { metadata: 'text' }, 'metadata'],
  ['metadata that is null', { metadata: null }, 'metadata'],
  ['access that is a list', { access: [] }, 'access'],
  ['access that is a number', { access: 7 }, 'access'],
  ['access to nothing', { access: { record: 'nobody', files: 'public' } }, 'access.record'],
  ['access with an object', { access: { record: {}, files: [] } }, 'access.record'],
  [
    'an embargo without end',
    { access: { record: 'restricted', files: 'restricted', embargo: { active: true } } },
    'access.embargo',
  ],
  [
    'an embargo until no such day',
    { access: { record: 'restricted', files: 'restricted', embargo: { active: true, until: '2030-02-30' } } },
    'access.embargo',
  ],
  [
    'an embargo that is a text',
    { access: { record: 'restricted', files: 'restricted', embargo: 'x' } },
    'access.embargo',
  ],
  ['files that are a list', { files: [] }, 'files'],
  ['files that are null', { files: null }, 'files'],
  ['files neither on nor off', { files: { enabled: 'maybe' } }, 'files.enabled'],
  ['a preview that is a list', { files: { enabled: true, default_preview: [] } }, 'files.default_preview'],
  ['an order of objects', { files: { enabled: true, order: [{}] } }, 'files.order'],
  ['pids that are a list', { pids: [] }, 'pids'],
  ['pids that are null', { pids: null }, 'pids'],
  ['pids of a text', { pids: { doi: 'x' } }, 'pids.doi'],
  ['a DOI from nowhere', { pids: { doi: { identifier: '10.1234/ab', provider: 'nobody' } } }, 'pids.doi'],
  ['a DOI that is a number', { pids: { doi: { identifier: 7, provider: 'external' } } }, 'pids.doi'],
  ['custom fields that are a list', { custom_fields: [] }, 'custom_fields'],
  [
    'ten thousand creators',
    { metadata: { creators: Array.from({ length: 10_000 }, () => ({})) } },
    'metadata.creators',
  ],
  [
    'ten thousand texts',
    { metadata: { sizes: Array.from({ length: 10_000 }, () => 'x') } },
    'metadata.sizes',
  ],
  ['a text of 64 KiB and one', { metadata: { description: 'x'.repeat(65_537) } }, 'metadata.description'],
  [
    'ten thousand unknown fields',
    { metadata: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`k${n}`, n])) },
    'metadata.k0',
  ],
];

/** Bodies with a null character, which is left out. */
const WITH_NULLS: [where: string, body: object][] = [
  ['a text', { metadata: { title: 'a\u0000b' } }],
  ['a key', { metadata: { 'a\u0000b': 1 } }],
  ['a term', { metadata: { languages: [{ id: 'en\u0000g' }] } }],
  ['a preview', { files: { enabled: true, default_preview: 'a\u0000' } }],
  ['an order', { files: { enabled: true, order: ['a\u0000'] } }],
  ['a scheme', { pids: { 'a\u0000b': {} } }],
  ['a DOI', { pids: { doi: { identifier: '10.1234/a\u0000b', provider: 'external' } } }],
  ['a provider', { pids: { doi: { identifier: '10.1234/ab', provider: 'a\u0000' } } }],
  [
    'an embargo',
    { access: { record: 'restricted', files: 'restricted', embargo: { active: true, reason: '\u0000' } } },
  ],
  ['a custom field', { custom_fields: { 'a\u0000': '\u0000' } }],
];

describe.each(DOORS)('$door', ({ send }) => {
  test.each(FAULTS)('%s', async (_name, body, field) => {
    const before = await state();
    const answer = await send(typeof body === 'string' ? { raw: body } : { json: body });
    expect(faultOf(answer, field)).toBeUndefined();
    if (answer.status >= 400) expect(await state()).toEqual(before);
  });

  test.each(WITH_NULLS)('a null character in %s', async (_where, body) => {
    const { status, text } = await send({ json: body });
    expect([200, 201]).toContain(status);
    expect(text).not.toContain('\\u0000');
  });

  test('a body one byte beyond a megabyte is refused, one less is not for its size', async () => {
    const before = await state();
    const bodyOf = (bytes: number) => `{"x":"${'x'.repeat(bytes - 8)}"}`;
    const answers = [await send({ raw: bodyOf(1_048_577) }), await send({ raw: bodyOf(1_048_576) })];
    expect(answers.map(({ status }) => status)).toEqual([413, 400]);
    expect(await state()).toEqual(before);
  });

  test.each([
    '{}',
    '[]',
    'null',
    '',
    '{"metadata":{}}',
    '{"metadata":{},"access":{},"files":{},"pids":{},"custom_fields":{}}',
    '{"metadata":{"creators":[],"dates":[],"locations":{},"rights":[{}],"subjects":[{}],"funding":[{}]}}',
  ])('nothing at all: %s', async (raw) => {
    const { status } = await send({ raw });
    expect([200, 201, 400]).toContain(status);
  });

  test.each([
    '7',
    '"abc"',
    '[1]',
    'true',
    '1e400',
    'NaN',
    '-',
    '{"a":1e400',
    '[[[[',
    '\u0000',
    '{"a":\u0000}',
    '"\\ud800"',
  ])('no object: %j', async (raw) => {
    const before = await state();
    const { status } = await send({ raw });
    expect(status).toBe(400);
    expect(await state()).toEqual(before);
  });
});

describe('bodies of the other routes', () => {
  const ROUTES: [method: string, path: (kind: Kind) => string, named: RegExp][] = [
    ['POST', (kind) => `${draftOf(kind)}/files`, /list/],
    ['POST', ({ all }) => `${all}/${drafts.get(all)?.id}/access/links`, /link/],
    ['POST', () => `/packages/${drafts.get('/packages')?.id}/context/actions/associate`, /ids/],
    ['POST', () => `/packages/${drafts.get('/packages')?.id}/context/actions/dissociate`, /ids/],
    ['PUT', () => `/packages/${drafts.get('/packages')?.id}/context`, /context/],
    ['POST', () => `${draftOf(KINDS[1])}/resources`, /ids/],
    ['DELETE', () => `${draftOf(KINDS[1])}/resources`, /ids/],
  ];
  const VALUES: unknown[] = [
    null,
    7,
    true,
    'text',
    [],
    {},
    [null],
    [7],
    [[]],
    ['a\u0000'],
    '\u0000',
    -1,
    [{}],
  ];
  const BODIES: unknown[] = [
    ...VALUES,
    ...['key', 'size', 'checksum', 'metadata', 'id'].flatMap((name) =>
      VALUES.map((value) => [{ key: 'a.txt', id: 'x', [name]: value }]),
    ),
    ...['permission', 'expires_at', 'description', 'records', 'resources', 'access', 'metadata'].flatMap(
      (name) => VALUES.map((value) => ({ [name]: value })),
    ),
    ...['records', 'resources'].flatMap((name) =>
      [null, 7, '', 'a\u0000b', '💧', 'x'.repeat(60_000), '../..', '__proto__', {}, []].map((id) => ({
        [name]: [{ id }],
      })),
    ),
    [{ key: 'a\u0000b' }],
    [{ key: '../../etc/passwd' }],
    [{ key: '' }],
    [{ key: 'x'.repeat(60_000) }],
    [{ key: 'n.txt', size: -1 }],
    [{ key: 'n.txt', size: 1e300 }],
    { permission: 'view', expires_at: '2024-02-30' },
    { permission: 'view', expires_at: '+999999-01-01' },
    { permission: 'view\u0000' },
    { permission: 'view', description: 'a\u0000b' },
    { records: Array.from({ length: 10_000 }, () => ({ id: 'x' })) },
    Array.from({ length: 10_000 }, (_, n) => ({ key: `k${n}` })),
  ];

  test('no body breaks a route', async () => {
    const faults: string[] = [];
    const ofKinds = KINDS.flatMap((kind) => ROUTES.map(([method, path]) => `${method} ${path(kind)}`));
    const cases = [...new Set(ofKinds)].flatMap((route) => BODIES.map((json) => ({ route, json })));
    await inTurns(cases, async ({ route, json }) => {
      const [method = '', path = ''] = route.split(' ');
      const { status, text } = await ask(method, path, { raw: JSON.stringify(json) });
      if (status >= 500)
        faults.push(`${method} ${path} ${JSON.stringify(json).slice(0, 200)}: ${status} ${text}`);
    });
    expect(faults).toEqual([]);
  });
});

/** Listings of resources filter by the identifier and do not look it up: an unknown one has none. */
function isEmptyListing(method: string, path: string, text: string): boolean {
  return method === 'GET' && path.endsWith('/resources') && text.startsWith('{"hits":{"hits":[],"total":0}');
}

describe('addresses', () => {
  const ODD = [
    '%00',
    'a%00b',
    '%2f',
    'a%2fb',
    '..%2f..',
    '%ff',
    '💧',
    '%F0%9F%92%A7',
    'x'.repeat(2_000),
    '%0d%0a',
    '__proto__',
    'constructor',
    "'--",
    '%5c',
    '-1',
    '1e400',
    'null',
    ' ',
    '%20',
    '*',
    ';',
    '%25',
    '%252f',
  ];
  const PATHS: [string, string][] = [
    ...['records', 'packages'].flatMap((all) =>
      (
        [
          ['GET', '/*'],
          ['DELETE', '/*'],
          ['GET', '/*/draft'],
          ['PUT', '/*/draft'],
          ['POST', '/*/draft'],
          ['DELETE', '/*/draft'],
          ['POST', '/*/draft/actions/publish'],
          ['POST', '/*/draft/actions/files-import'],
          ['POST', '/*/draft/pids/doi'],
          ['POST', '/MINE/draft/pids/*'],
          ['DELETE', '/MINE/draft/pids/*'],
          ['GET', '/*/draft/files'],
          ['POST', '/*/draft/files'],
          ['GET', '/MINE/draft/files/*'],
          ['PUT', '/MINE/draft/files/*'],
          ['DELETE', '/MINE/draft/files/*'],
          ['GET', '/MINE/draft/files/*/content'],
          ['PUT', '/MINE/draft/files/*/content'],
          ['POST', '/MINE/draft/files/*/commit'],
          ['GET', '/*/files'],
          ['GET', '/*/files/a'],
          ['GET', '/*/files/a/content'],
          ['GET', '/*/versions'],
          ['POST', '/*/versions'],
          ['GET', '/*/versions/latest'],
          ['GET', '/*/access/links'],
          ['POST', '/*/access/links'],
          ['GET', '/MINE/access/links/*'],
          ['PATCH', '/MINE/access/links/*'],
          ['DELETE', '/MINE/access/links/*'],
        ] as const
      ).map(([method, path]): [string, string] => [method, `/${all}${path}`]),
    ),
    ['PUT', '/packages/*/context'],
    ['POST', '/packages/*/context/actions/associate'],
    ['GET', '/packages/*/resources'],
    ['GET', '/packages/*/draft/resources'],
    ['POST', '/packages/*/draft/resources'],
    ['DELETE', '/packages/*/draft/resources'],
    ['POST', '/packages/*/draft/actions/resources-import'],
    ['GET', '/packages/context/*/resources'],
  ];

  test('no identifier breaks a route', async () => {
    const before = await state();
    const faults: string[] = [];
    const cases = PATHS.flatMap(([method, path]) => ODD.map((odd) => ({ method, path, odd })));
    await inTurns(cases, async ({ method, path, odd }) => {
      const mine = drafts.get(path.startsWith('/records') ? '/records' : '/packages')?.id ?? '';
      const target = path.replace('*', odd).replace('MINE', mine);
      const isContent = method === 'PUT' && path.endsWith('/content');
      const sent = isContent ? { bytes: Buffer.from('x') } : method === 'GET' ? {} : { raw: '{}' };
      const { status, text } = await ask(method, target, sent);
      const isRefused = status >= 400 && status < 500;
      if (!isRefused && !isEmptyListing(method, path, text))
        faults.push(`${method} ${target.slice(0, 100)}: ${status} ${text.slice(0, 100)}`);
    });
    expect(faults).toEqual([]);
    expect(await state()).toEqual(before);
  });

  test('an identifier of the other kind, of a parent or of somebody else changes nothing', async () => {
    const faults: string[] = [];
    const mine = {
      records: await publish(
        author,
        await author.sure<Entity>('POST', '/records', { json: recordDocument('Kind') }),
      ),
      packages: await publish(
        author,
        await author.sure<Entity>('POST', '/packages', { json: packageDocument('Kind') }),
      ),
    };
    const before = await state();
    const cases = PATHS.filter(([, path]) => path.includes('*') && !path.includes('MINE')).flatMap(
      ([method, path]) => {
        const isOfRecords = path.startsWith('/records');
        const other = isOfRecords ? mine.packages : mine.records;
        const own = isOfRecords ? mine.records : mine.packages;
        return [
          { method, path, id: other.id, as: author },
          { method, path, id: other.parent.id, as: author },
          ...(method === 'GET'
            ? []
            : [
                {
                  method,
                  path,
                  id: drafts.get(isOfRecords ? '/records' : '/packages')?.id ?? '',
                  as: stranger,
                },
                { method, path, id: own.id, as: stranger },
              ]),
        ];
      },
    );
    await inTurns(cases, async ({ method, path, id, as }) => {
      const target = path.replace('*', id);
      const { status, text } = await as.call(method, target, method === 'GET' ? {} : { raw: '{}' });
      const isRefused = status >= 400 && status < 500;
      if (!isRefused && !isEmptyListing(method, path, text))
        faults.push(`${method} ${target}: ${status} ${text.slice(0, 100)}`);
    });
    expect(faults).toEqual([]);
    expect(await state()).toEqual(before);
  });

  const QUERIES = [
    'q=%00',
    'q=a%00b',
    'q=%ff',
    'q=(((((((',
    'q=title:',
    'q=%5B2024 TO',
    'q=*a',
    'q=a~9999999999',
    'q=/a.*/',
    `q=${'x'.repeat(7_000)}`,
    `q=${'(a AND '.repeat(200)}b${')'.repeat(200)}`,
    'size=-1',
    'size=0',
    'size=1e400',
    'size=99999999999999999999',
    'size=a',
    'size=%00',
    'size=1.5',
    'page=-1',
    'page=0',
    'page=99999999',
    'page=NaN',
    'sort=%00',
    'sort=no-such',
    'sort=__proto__',
    'bbox=%00',
    'bbox=1',
    'bbox=1,2,3,4,5',
    'bbox=NaN,NaN,NaN,NaN',
    'bbox=1e400,0,0,0',
    'bbox=-181,0,0,0',
    'bbox=0,-91,0,91',
    'bounds=1,2',
    'resource_type=%00',
    'access_status=%00',
    'subjects=__proto__',
    'allversions=%00',
    'expand=%00',
    'prettyprint=%00',
    'filters=%7B%7D',
    'q=a&q=b',
    'size=1&size=2',
    '=',
    '&&&',
    '%00=1',
    '__proto__=1',
    'constructor=1',
    'token=%00',
    'token=a%00b',
    `token=${'x'.repeat(7_000)}`,
  ];
  test('no query breaks a listing', async () => {
    const faults: string[] = [];
    const listings = [
      '/records',
      '/packages',
      '/search',
      '/user/records',
      '/user/packages',
      '/user/search',
      `${draftOf(KINDS[1])}/resources`,
    ];
    const cases = listings.flatMap((path) => QUERIES.map((query) => `${path}?${query}`));
    await inTurns(cases, async (target) => {
      const { status, text } = await author.call('GET', target);
      if (status >= 500) faults.push(`${target.slice(0, 100)}: ${status} ${text.slice(0, 100)}`);
    });
    expect(faults).toEqual([]);
  });

  test('an address beyond all measure is refused', async () => {
    const { status } = await author.call('GET', `/records?q=${'x'.repeat(9_000)}`);
    expect(status).toBe(414);
  });
});

test('nothing of this surprised a service, and no process was restarted', async () => {
  const surprises = (await loggedLines())
    .filter(({ line }) => /"level":"?(50|60|error|fatal)|"stack":/.test(line))
    // Silence ends the session of a relay that a busy machine did not let speak for seconds.
    .filter(({ line }) => !line.includes('relay lost its database, trying on'))
    .map(({ file, line }) => `${file}: ${line.slice(0, 400)}`);
  expect(surprises).toEqual([]);
  expect(processIds(system)).toEqual(started);
});
