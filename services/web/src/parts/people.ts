import { labelOf, nameUrl, type Person } from '@kr/formats';
import { type Html, html } from '../html/html.ts';
import type { Texts } from '../html/texts.ts';

/** Names with affiliation, role and ORCID iD. */
export function people(persons: readonly Person[] | undefined, texts: Texts): Html | undefined {
  if (persons === undefined || persons.length === 0) return undefined;
  return html`<ul class="people">${persons.map((person) => item(person, texts))}</ul>`;
}

function item(person: Person, texts: Texts): Html {
  const name = displayName(person.person_or_org);
  const orcid = nameUrl(person, 'orcid');
  const ror = nameUrl(person, 'ror');
  const affiliations = (person.affiliations ?? []).map((one) => one.name);
  const about = [labelOf(person.role, texts.language), ...affiliations].filter(Boolean);
  return html`<li>${ror === undefined ? name : html`<a href="${ror}">${name}</a>`}
${orcid !== undefined && html` <a class="orcid" href="${orcid}" aria-label="${texts.entity.orcid(name)}">iD</a>`}
${about.length > 0 && html` <span class="affiliation">${about.join(', ')}</span>`}</li>`;
}

/** “Given Family”, or the name of an organisation. */
export function displayName({ name, given_name, family_name }: Person['person_or_org']): string {
  if (family_name !== undefined && family_name !== '')
    return [given_name, family_name].filter(Boolean).join(' ');
  return name ?? '';
}

/** At most three names, the others as “et al.”. */
export function shortNames(persons: readonly Person[] | undefined): string {
  const names = (persons ?? []).map(({ person_or_org }) => displayName(person_or_org));
  return names.length > 3 ? `${names.slice(0, 3).join('; ')} et al.` : names.join('; ');
}
