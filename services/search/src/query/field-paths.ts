import { metadataSearchFields } from '@kr/metadata';

/** The paths of `title` and the like; a name without an entry is the field of that name in `metadata`. */
const SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  ['doi', 'pids.doi.identifier'],
  ['orcid', 'metadata.creators.person_or_org.identifiers.identifier'],
  ['creator', 'metadata.creators.person_or_org.name'],
  ['creators', 'metadata.creators.person_or_org.name'],
  ['creators.name', 'metadata.creators.person_or_org.name'],
  ['creators.affiliation', 'metadata.creators.affiliations.name'],
  ['contributor', 'metadata.contributors.person_or_org.name'],
  ['contributors', 'metadata.contributors.person_or_org.name'],
  ['contributors.name', 'metadata.contributors.person_or_org.name'],
  ['contributors.affiliation', 'metadata.contributors.affiliations.name'],
  ['keyword', 'metadata.subjects.subject'],
  ['keywords', 'metadata.subjects.subject'],
  ['subject', 'metadata.subjects.subject'],
  ['subjects', 'metadata.subjects.subject'],
  ['language', 'metadata.languages.id'],
  ['languages', 'metadata.languages.id'],
  ['license', 'metadata.rights.id'],
  ['rights', 'metadata.rights.id'],
  ['resource_type', 'metadata.resource_type.id'],
]);

/** The names directly below `metadata`. The envelope has no such name. */
const METADATA_NAMES: ReadonlySet<string> = new Set(
  [...metadataSearchFields().keys()].map((path) => path.split('.', 2)[1] ?? ''),
);

/** The index path that a field's name in a query means. */
export function fieldPath(name: string): string {
  const path = SHORT_NAMES.get(name);
  if (path !== undefined) return path;
  return METADATA_NAMES.has(name.split('.', 1)[0] ?? '') ? `metadata.${name}` : name;
}
