import { type Content, type Element, type Entity, element, instantOf, xmlDocument } from '@kr/formats';
import { ApiError } from '../api/repository.ts';
import type { PageContext } from '../html/layout.ts';
import { type Arguments, readArguments } from './arguments.ts';
import { type Listed, listEntities } from './list-entities.ts';
import { METADATA_FORMATS, type MetadataFormat } from './metadata-formats.ts';
import { OaiError } from './oai-error.ts';
import { type ListState, readToken, writeToken } from './resumption-token.ts';

export interface OaiContext extends Pick<PageContext, 'repository' | 'siteName'> {
  baseUrl: string;
  /** The domain name in OAI identifiers. */
  oaiPrefix: string;
  /** Address of the administrator, for `Identify`. */
  contact: string;
  now: Date;
}

/** Answers a request of OAI-PMH 2.0, errors of the protocol included. @see http://www.openarchives.org/OAI/openarchivesprotocol.html */
export async function answerOai(query: URLSearchParams, context: OaiContext): Promise<string> {
  try {
    const args = readArguments(query);
    const content = await VERBS[args.verb](args, context);
    return envelope(Object.fromEntries(query), element(args.verb, {}, content), context);
  } catch (error) {
    if (!(error instanceof OaiError)) throw error;
    // The arguments of a request that is invalid are not repeated (section 3.6).
    const isInvalid = error.code === 'badVerb' || error.code === 'badArgument';
    const request = isInvalid ? {} : Object.fromEntries(query);
    return envelope(request, element('error', { code: error.code }, error.message), context);
  }
}

const NAMESPACE = 'http://www.openarchives.org/OAI/2.0/';

function envelope(
  request: Readonly<Record<string, string>>,
  content: Element,
  { baseUrl, now }: OaiContext,
): string {
  return xmlDocument(
    element(
      'OAI-PMH',
      {
        xmlns: NAMESPACE,
        'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
        'xsi:schemaLocation': `${NAMESPACE} ${NAMESPACE}OAI-PMH.xsd`,
      },
      element('responseDate', {}, instantOf(now.toISOString())),
      element('request', request, `${baseUrl}/oai2d`),
      content,
    ),
  );
}

const VERBS: Readonly<Record<Arguments['verb'], (args: Arguments, context: OaiContext) => Promise<Content>>> =
  {
    Identify: identify,
    ListMetadataFormats: listMetadataFormats,
    ListSets: listSets,
    GetRecord: getRecord,
    ListIdentifiers: (args, context) => list(args, context, (listed) => header(listed, context)),
    ListRecords: (args, context) => list(args, context, (listed, format) => record(listed, format, context)),
  };

async function identify(
  _: Arguments,
  { repository, siteName, baseUrl, contact, now }: OaiContext,
): Promise<Content> {
  const oldest = await repository.search(
    new URLSearchParams({ sort: 'oldest', size: '1', allversions: '1' }),
  );
  const [first] = oldest.hits.hits;
  return [
    element('repositoryName', {}, siteName),
    element('baseURL', {}, `${baseUrl}/oai2d`),
    element('protocolVersion', {}, '2.0'),
    element('adminEmail', {}, contact),
    element('earliestDatestamp', {}, instantOf(first?.created ?? now.toISOString())),
    element('deletedRecord', {}, 'persistent'),
    element('granularity', {}, 'YYYY-MM-DDThh:mm:ssZ'),
  ];
}

async function listMetadataFormats({ identifier }: Arguments, context: OaiContext): Promise<Content> {
  if (identifier !== undefined) await find(identifier, context);
  return METADATA_FORMATS.map(({ prefix, schema, namespace }) =>
    element(
      'metadataFormat',
      {},
      element('metadataPrefix', {}, prefix),
      element('schema', {}, schema),
      element('metadataNamespace', {}, namespace),
    ),
  );
}

const SETS_OF_A_PAGE = 100;

/** The fixed sets, those of resource types, and one for each package. Its token is the number of the page of packages. */
async function listSets({ resumptionToken }: Arguments, { repository }: OaiContext): Promise<Content> {
  const page = resumptionToken === undefined ? 1 : Number(resumptionToken);
  if (!Number.isInteger(page) || page < 1 || page > SETS_OF_A_PAGE) {
    throw new OaiError('badResumptionToken', 'The resumption token is invalid.');
  }
  const query = { record_type: 'package', sort: 'oldest', size: String(SETS_OF_A_PAGE), page: String(page) };
  const [packages, all] = await Promise.all([
    repository.search(new URLSearchParams(query)),
    page === 1 ? repository.search(new URLSearchParams({ size: '1' })) : undefined,
  ]);
  const types = all?.aggregations['resource_type']?.buckets.flatMap((bucket) => [
    bucket,
    ...(bucket.inner?.buckets ?? []),
  ]);
  const fixed: (readonly [string, string])[] =
    page > 1
      ? []
      : [
          ['records', 'Knowledge resources'],
          ['packages', 'Knowledge packages'],
          ['access:open', 'Open access'],
          ...(types ?? []).map(({ key, label }) => [`type:${key}`, label] as const),
        ];
  const { hits, total } = packages.hits;
  const own = hits.map(({ id, metadata }) => [`package:${id}`, metadata.title ?? id] as const);
  const hasMore = page * SETS_OF_A_PAGE < Math.min(total, SETS_OF_A_PAGE ** 2);
  return [
    [...fixed, ...own].map(([spec, name]) =>
      element('set', {}, element('setSpec', {}, spec), element('setName', {}, name)),
    ),
    (hasMore || page > 1) && element('resumptionToken', {}, hasMore ? String(page + 1) : ''),
  ].map((content) => (content === false ? undefined : content));
}

async function getRecord(
  { identifier = '', metadataPrefix = '' }: Arguments,
  context: OaiContext,
): Promise<Content> {
  const format = formatOf(metadataPrefix);
  return record(await find(identifier, context), format, context);
}

/** @throws OaiError `idDoesNotExist` */
async function find(identifier: string, { repository }: OaiContext): Promise<Listed> {
  const id = /^oai:[^:]+:([0-9a-z]{5}-[0-9a-z]{5})$/.exec(identifier)?.[1];
  for (const kind of id === undefined ? [] : (['record', 'package'] as const)) {
    try {
      const entity = await repository.entity(kind, id ?? '');
      if (entity.pids?.oai?.identifier === identifier)
        return { id: entity.id, datestamp: instantOf(entity.updated), entity };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      const date = error.body.tombstone?.removal_date;
      if (date !== undefined) return { id: id ?? '', kind: `${kind}s`, datestamp: instantOf(date) };
    }
  }
  throw new OaiError('idDoesNotExist', 'There is no such identifier.');
}

async function list(
  args: Arguments,
  context: OaiContext,
  write: (listed: Listed, format: MetadataFormat) => Content,
): Promise<Content> {
  const state =
    args.resumptionToken === undefined ? firstState(args, context) : readToken(args.resumptionToken);
  const format = formatOf(state.prefix);
  const { listed, next, total } = await pageOf(context, state);
  if (listed.length === 0 && state.position === 0) throw new OaiError('noRecordsMatch', 'No record matches.');
  const isResumed = args.resumptionToken !== undefined;
  return [
    listed.map((one) => write(one, format)),
    next === undefined && !isResumed
      ? undefined
      : element(
          'resumptionToken',
          { completeListSize: total > 0 ? String(total) : undefined, cursor: String(state.position) },
          next === undefined ? '' : writeToken(next),
        ),
  ];
}

function firstState({ metadataPrefix = '', from, until, set }: Arguments, { now }: OaiContext): ListState {
  return { prefix: metadataPrefix, from, until, set, start: now.toISOString(), position: 0 };
}

async function pageOf({ repository }: OaiContext, state: ListState) {
  try {
    return await listEntities(repository, state);
  } catch (error) {
    // The API refuses a cursor, which only a forged token has.
    if (error instanceof ApiError && error.status === 400) {
      throw new OaiError('badResumptionToken', 'The resumption token is invalid.');
    }
    throw error;
  }
}

/** @throws OaiError `cannotDisseminateFormat` */
function formatOf(prefix: string): MetadataFormat {
  const format = METADATA_FORMATS.find((one) => one.prefix === prefix);
  if (format === undefined) {
    const known = METADATA_FORMATS.map((one) => one.prefix).join(', ');
    throw new OaiError('cannotDisseminateFormat', `The metadata prefix must be one of: ${known}.`);
  }
  return format;
}

function record(listed: Listed, format: MetadataFormat, context: OaiContext): Element {
  const metadata =
    listed.entity === undefined
      ? undefined
      : element(
          'metadata',
          {},
          format.write(listed.entity, { baseUrl: context.baseUrl, repository: context.siteName }),
        );
  return element('record', {}, header(listed, context), metadata);
}

function header(listed: Listed, { oaiPrefix }: OaiContext): Element {
  const { id, datestamp, entity } = listed;
  const sets = entity === undefined ? [listed.kind] : setsOf(entity);
  return element(
    'header',
    { status: entity === undefined ? 'deleted' : undefined },
    element('identifier', {}, entity?.pids?.oai?.identifier ?? `oai:${oaiPrefix}:${id}`),
    element('datestamp', {}, datestamp),
    sets.map((set) => element('setSpec', {}, set)),
  );
}

function setsOf({ parent, access, metadata, relationship }: Entity): string[] {
  const type = metadata.resource_type?.id;
  const types = type === undefined ? [] : [...new Set([type.split('-')[0], type])];
  return [
    parent.type === 'package' ? 'packages' : 'records',
    ...(access.status === 'open' ? ['access:open'] : []),
    ...types.map((one) => `type:${one}`),
    ...(relationship?.packages ?? []).map(({ id }) => `package:${id}`),
  ];
}
