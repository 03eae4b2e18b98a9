import type { Entity } from '../document/entity.ts';
import { doiOf, keywordsOf, labelOf, licenceName, pageOf, titleOf } from '../document/fields.ts';
import { combinedGeometry, geometriesOf } from '../document/places.ts';

/** One GeoJSON feature (RFC 7946); its geometry is null without places. */
export function geoJsonFeature(entity: Entity): GeoJSON.Feature<GeoJSON.Geometry | null> {
  const { metadata } = entity;
  return {
    type: 'Feature',
    id: entity.id,
    geometry: combinedGeometry(geometriesOf(metadata.locations?.features ?? [])),
    properties: {
      title: titleOf(entity),
      doi: doiOf(entity) ?? null,
      url: pageOf(entity),
      resource_type: labelOf(metadata.resource_type) ?? null,
      publication_date: metadata.publication_date ?? null,
      places: (metadata.locations?.features ?? []).flatMap(({ place }) => place ?? []),
      keywords: keywordsOf(entity),
      licences: (metadata.rights ?? []).map(licenceName),
      access_status: entity.access.status,
    },
  };
}
