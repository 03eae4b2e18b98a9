import type { Person } from '@kr/formats';
import { type Html, html } from '../html/html.ts';
import type { Texts } from '../html/texts.ts';
import { labelOf } from './vocabulary.ts';

/** Names with affiliation, role and ORCID iD. */
export function people(persons: readonly Person[] | undefined, texts: Texts): Html | undefined {
  if (persons === undefined || persons.length === 0) return undefined;
  return html`<ul class="people">${persons.map((person) => item(person, texts))}</ul>`;
}

function item({ person_or_org, role, affiliations }: Person, texts: Texts): Html {
  const name = displayName(person_or_org);
  const orcid = person_or_org.identifiers?.find(({ scheme }) => scheme === 'orcid')?.identifier;
  const ror = person_or_org.identifiers?.find(({ scheme }) => scheme === 'ror')?.identifier;
  const about = [labelOf(role, texts), ...(affiliations ?? []).map((one) => one.name)].filter(
    (text) => text !== undefined && text !== '',
  );
  return html`<li>${ror === undefined ? name : html`<a href="https://ror.org/${ror}">${name}</a>`}
${orcid !== undefined && html` <a class="orcid" href="https://orcid.org/${orcid}" aria-label="${texts.entity.orcid(name)}">iD</a>`}
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
