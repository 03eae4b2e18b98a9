import { OaiError } from './oai-error.ts';

export const VERBS = [
  'Identify',
  'ListMetadataFormats',
  'ListSets',
  'GetRecord',
  'ListIdentifiers',
  'ListRecords',
] as const;
export type Verb = (typeof VERBS)[number];

/** Arguments of a request; absent ones are undefined. */
export interface Arguments {
  verb: Verb;
  identifier?: string;
  metadataPrefix?: string;
  from?: string;
  until?: string;
  set?: string;
  resumptionToken?: string;
}

const ALLOWED: Readonly<Record<Verb, { required: readonly string[]; optional: readonly string[] }>> = {
  Identify: { required: [], optional: [] },
  ListMetadataFormats: { required: [], optional: ['identifier'] },
  ListSets: { required: [], optional: ['resumptionToken'] },
  GetRecord: { required: ['identifier', 'metadataPrefix'], optional: [] },
  ListIdentifiers: { required: ['metadataPrefix'], optional: ['from', 'until', 'set'] },
  ListRecords: { required: ['metadataPrefix'], optional: ['from', 'until', 'set'] },
};

/** @throws OaiError `badVerb`, `badArgument` */
export function readArguments(query: URLSearchParams): Arguments {
  const names = [...query.keys()];
  const verbs = query.getAll('verb');
  const verb = VERBS.find((one) => one === verbs[0]);
  if (verb === undefined || verbs.length > 1)
    throw new OaiError('badVerb', `The verb must be one of: ${VERBS.join(', ')}.`);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new OaiError('badArgument', `The argument ${repeated} is repeated.`);
  const args = names.filter((name) => name !== 'verb');
  const isResumed = (verb === 'ListIdentifiers' || verb === 'ListRecords') && query.has('resumptionToken');
  const { required, optional } = isResumed ? { required: ['resumptionToken'], optional: [] } : ALLOWED[verb];
  const unknown = args.find((name) => !required.includes(name) && !optional.includes(name));
  if (unknown !== undefined)
    throw new OaiError(
      'badArgument',
      `${verb} has no argument ${unknown}${isResumed ? ' beside resumptionToken' : ''}.`,
    );
  const missing = required.find((name) => !query.get(name));
  if (missing !== undefined) throw new OaiError('badArgument', `${verb} needs the argument ${missing}.`);
  const values = Object.fromEntries(args.map((name) => [name, query.get(name) ?? '']));
  checkDates(values);
  return { verb, ...values };
}

const DAY = /^\d{4}-\d\d-\d\d$/;
const SECOND = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

function checkDates({ from, until }: { from?: string; until?: string }): void {
  for (const date of [from, until]) {
    const isDate =
      date === undefined || ((DAY.test(date) || SECOND.test(date)) && !Number.isNaN(Date.parse(date)));
    if (!isDate) throw new OaiError('badArgument', 'Dates are YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ.');
  }
  if (from === undefined || until === undefined) return;
  if (from.length !== until.length)
    throw new OaiError('badArgument', 'from and until must have the same granularity.');
  if (from > until) throw new OaiError('badArgument', 'from must not be later than until.');
}
