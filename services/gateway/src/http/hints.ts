import type { VocabularyType } from '@kr/metadata';
import { similarTerm } from '../vocabularies/similar-term.ts';

type Hint = (found: string[], field: string) => string | undefined;

/** Vocabularies by the end of the path of a field. */
const VOCABULARY_OF: readonly (readonly [RegExp, VocabularyType])[] = [
  [/creators\.\d+\.role$/, 'creatorsroles'],
  [/contributors\.\d+\.role$/, 'contributorsroles'],
  [/additional_titles\.\d+\.type$/, 'titletypes'],
  [/additional_descriptions\.\d+\.type$/, 'descriptiontypes'],
  [/dates\.\d+\.type$/, 'datetypes'],
  [/relation_type$/, 'relationtypes'],
  [/resource_type$/, 'resourcetypes'],
  [/languages\.\d+$|\.lang$/, 'languages'],
  [/rights\.\d+$/, 'licenses'],
  [/subjects\.\d+$/, 'subjects'],
  [/target_audiences\.\d+$/, 'targetaudiencestypes'],
  [/geo_work_programme_activity$/, 'geowptypes'],
  [/engagement_priorities\.\d+$/, 'engagementprioritiestypes'],
  [/affiliations\.\d+$/, 'affiliations'],
  [/funder$/, 'funders'],
  [/award$/, 'awards'],
];

/**
 * What to do about messages whose text is fixed, because clients of the original API compare it. By the message, whole, and the field
 * that it is about (empty for the message of the error itself).
 */
const HINTS: readonly (readonly [message: RegExp, hint: Hint])[] = [
  [/^Invalid input type\.$/, (_, field) => `Expected ${expectedAt(field)}.`],
  [/^Invalid value (.+)\.$/, ([, id = ''], field) => unknownTerm(id, field)],
  [
    /^Invalid value\. Choose one of \[(.+)\]\.$/,
    ([, choices = '']) => `Must be one of: ${choices.replaceAll("'", '')}.`,
  ],
  [
    /^Revision id provided\((.+)\) doesn't match record's one\((\d+)\)$/,
    ([, given = '', current = '']) => `The record is at revision ${current}, not ${given}; read it again.`,
  ],
  [/^Not a valid datetime\.$/, () => 'Write a date and time as 2026-12-31T00:00:00Z.'],
  [/^No secret link found with the given ID\.$/, () => 'There is no such access link.'],
  [/^The persistent identifier is not registered\.$/, () => 'This is a draft that has not been published.'],
  [
    /^A PID already exists for type (\w+)$/,
    ([, scheme = '']) => `The draft already has an identifier of type ${scheme}.`,
  ],
  [
    /^Not valid coordinates of a (?:Multi)?Polygon\.$/,
    () =>
      'The first and last position of a ring must be the same, and a ring has at least four positions of longitude and latitude.',
  ],
  [/^Not valid coordinates of a (\w+)\.$/, () => 'A position is [longitude, latitude] in degrees.'],
  [/^An access permission level is required$/, () => 'permission is required: view, preview or edit.'],
];

/** What the caller can do about a message; undefined if it says so itself. */
export function hintOf(message: string, field = ''): string | undefined {
  for (const [pattern, hint] of HINTS) {
    const found = pattern.exec(message);
    if (found !== null) return hint(found, field);
  }
  return undefined;
}

/** A problem with one field, with a hint if there is one. */
export function withHint<Problem extends { field: string; messages: readonly string[] }>(
  problem: Problem,
): Problem & { hint?: string } {
  const hint = problem.messages
    .map((message) => hintOf(message, problem.field))
    .find((text) => text !== undefined);
  return hint === undefined ? problem : { ...problem, hint };
}

function expectedAt(field: string): string {
  if (/(?:^|\.)(?:records|resources)\.\d+(?:\._schema)?$/.test(field)) return 'an object such as {"id": "…"}';
  if (VOCABULARY_OF.some(([path]) => path.test(field.replace(/\._schema$/, ''))))
    return 'an object such as {"id": "dataset"}';
  return 'a JSON object';
}

function unknownTerm(id: string, field: string): string | undefined {
  const [, type] = VOCABULARY_OF.find(([path]) => path.test(field)) ?? [];
  if (type === undefined) return undefined;
  const similar = similarTerm(type, id);
  const meant = similar === undefined ? '' : `; did you mean "${similar}"?`;
  return `"${id}" is not in the vocabulary ${type}${meant}${meant === '' ? '.' : ''}`;
}
