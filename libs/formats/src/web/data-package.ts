import type { Entity, FileEntry, Licence, Person } from '../document/entity.ts';
import {
  addressOf,
  compact,
  descriptionOf,
  instantOf,
  invertedName,
  keywordsOf,
  licenceName,
  licenceUrl,
  orcidUrl,
  pageOf,
  titleOf,
} from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';

export const DATA_PACKAGE_PROFILE = 'https://datapackage.org/profiles/2.0/datapackage.json';

/** Data Package 2.0 of Frictionless Data, with one resource for each file, or the metadata if there are no files. @see https://datapackage.org/standard/data-package/ */
export function dataPackage(entity: Entity, { files }: FormatContext): Record<string, unknown> {
  const { metadata } = entity;
  return {
    $schema: DATA_PACKAGE_PROFILE,
    ...compact({
      id: addressOf(entity),
      name: entity.id,
      title: titleOf(entity),
      description: descriptionOf(entity),
      homepage: pageOf(entity),
      version: metadata.version ?? String(entity.versions.index),
      created: instantOf(entity.created),
      keywords: keywordsOf(entity),
      contributors: [...(metadata.creators ?? []), ...(metadata.contributors ?? [])].map(contributor),
      licenses: (metadata.rights ?? []).flatMap(licence),
    }),
    resources: files.length > 0 ? files.map(resource) : [metadataResource(entity)],
  };
}

function contributor(person: Person): Record<string, unknown> {
  const { given_name: givenName, family_name: familyName } = person.person_or_org;
  return compact({
    title: invertedName(person),
    givenName,
    familyName,
    path: orcidUrl(person),
    organization: person.affiliations?.flatMap(({ name }) => name ?? []).join('; '),
    roles: [person.role?.id ?? 'creator'],
  });
}

/** The standard requires an id or an address; own licences may have neither. */
function licence(right: Licence): Record<string, unknown>[] {
  const path = licenceUrl(right);
  if (right.id === undefined && path === undefined) return [];
  return [compact({ name: right.id, path, title: licenceName(right) })];
}

/** The standard requires at least one resource. */
function metadataResource({ links }: Entity): Record<string, unknown> {
  return { name: 'metadata', path: links['self'] ?? '', format: 'json', mediatype: 'application/json' };
}

function resource(
  { key, size, mimetype, checksum, links }: FileEntry,
  index: number,
): Record<string, unknown> {
  const extension = /\.([a-z0-9]+)$/i.exec(key)?.[1];
  return compact({
    name: `file-${index + 1}`,
    title: key,
    path: links.content,
    format: extension?.toLowerCase(),
    mediatype: mimetype,
    bytes: size,
    hash: checksum,
  });
}
