import type { Sent } from '../e2e/story/http-client.ts';
import { CALLERS, type CallerName, hasCredentials } from './callers.ts';
import { ENTITY_ROUTES, type EntityRoute, partsOf } from './entity-routes.ts';
import { expectedAnswer } from './expectation.ts';
import type { ChangeLog } from './http.ts';
import type { Place } from './places.ts';
import { headerNames, wholeAnswer } from './whole-answer.ts';

/** Calls a route of a place as a caller. */
export type AskRoute = (route: string, caller: CallerName, place: Place, sent?: Sent) => Promise<ChangeLog>;

/** Right in form and checksum, and of nothing. */
export const NEVER = 'zzzzz-zzz99';
const NO_ID = 'The persistent identifier does not exist.';

/** As the place, but with nothing in it that is there. */
function withoutParts(place: Place): Place {
  return {
    ...place,
    spareLinkId: '11111111-1111-4111-8111-111111111111',
    uploadId: '22222222-2222-4222-8222-222222222222',
    partId: NEVER,
    looseId: NEVER,
    relatedId: NEVER,
  };
}

const neverWas = (place: Place): Place => ({ ...withoutParts(place), id: NEVER, parentId: NEVER });

/** Requests of a caller who has seen the entity once, or guesses. */
const CONDITIONS: readonly Record<string, string>[] = [
  { 'if-none-match': '*' },
  { 'if-modified-since': new Date('2199-01-01').toUTCString(), range: 'bytes=0-0' },
];

export interface Refusal {
  collection: string;
  stage: string;
  route: string;
  caller: CallerName;
  /** The whole answer, except the id. */
  whole: string;
}

/** The routes of a place that refuse a caller, for any reason. */
export function refusing(place: Place, caller: CallerName): string[] {
  return Object.entries(ENTITY_ROUTES)
    .filter(([, row]) => row.only === undefined || row.only === place.collection)
    .filter(([, row]) => !expectedAnswer(row, CALLERS[caller], place).startsWith('2'))
    .map(([route]) => route);
}

/**
 * Ways in which a refusal may reveal too much: another answer for an existing file, link or upload, or for a
 * request with conditions, and a header that no answer about an unknown id has.
 */
export async function slips(
  ask: AskRoute,
  place: Place,
  caller: CallerName,
  route: string,
): Promise<{ refusal: Refusal; slips: object[] }> {
  const names = [place.id, place.parentId, NEVER];
  const row = ENTITY_ROUTES[route] as EntityRoute;
  const told = await ask(route, caller, place);
  const whole = wholeAnswer(told, names);
  const variants: [string, ChangeLog][] = [
    ['nothing of the named objects', await ask(route, caller, withoutParts(place))],
  ];
  if (partsOf(route).method === 'GET') {
    for (const headers of CONDITIONS)
      variants.push([JSON.stringify(headers), await ask(route, caller, place, { headers })]);
  }
  const others = variants
    .map(([variant, answer]) => ({ variant, answer: wholeAnswer(answer, names) }))
    .filter(({ answer }) => answer !== whole);
  const unknown = await ask(route, caller, neverWas(place));
  const found = [...others, ...againstUnknown(row, caller, told, unknown, names)];
  return {
    refusal: { collection: place.collection, stage: place.state.stage, route, caller, whole },
    slips: found.map((slip) => ({
      route,
      caller,
      on: `${place.collection} ${place.state.stage}`,
      whole,
      ...slip,
    })),
  };
}

/**
 * A caller without credentials gets 401 wherever they are needed; for others an unknown id differs from
 * a forbidden one by the documented answer and by nothing else.
 */
function againstUnknown(
  { isOpen }: EntityRoute,
  caller: CallerName,
  told: ChangeLog,
  unknown: ChangeLog,
  names: readonly string[],
): object[] {
  if (isOpen !== true && !hasCredentials(CALLERS[caller])) {
    return wholeAnswer(unknown, names) === wholeAnswer(told, names) ? [] : [{ unknown: unknown.text }];
  }
  const saysSo = unknown.status === 404 && (unknown.text === '' || unknown.text.includes(NO_ID));
  const sameHeaders = headerNames(unknown).join() === headerNames(told).join();
  return saysSo && sameHeaders ? [] : [{ unknown: unknown.text, headers: headerNames(unknown) }];
}
