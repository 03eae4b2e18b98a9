import { type Bounds, boundsOf, geometriesOf, type Location, pointsOf } from '@kr/formats';
import { type Html, html } from '../html/html.ts';
import type { Texts } from '../html/texts.ts';
import { pathOf } from './geometry-path.ts';
import { landPath } from './land.ts';

/** A map of the places of one entity, drawn on the server; undefined without coordinates. */
export function extentMap(places: readonly Location[], texts: Texts): Html | undefined {
  const geometries = geometriesOf(places);
  const bounds = boundsOf(geometries);
  if (bounds === undefined) return undefined;
  const view = viewAround(bounds);
  const [west, south, east, north] = view;
  const width = east - west;
  const names = places.flatMap(({ place }) => place ?? []).join(', ');
  const label = names === '' ? texts.map.label : texts.map.places(names);
  return html`<div class="map">
<svg viewBox="${west} ${-north} ${width} ${north - south}" role="img" aria-label="${label}">
<path class="land" d="${landPath(view)}"/>
${geometries.map((geometry) => html`<path class="place" d="${pathOf(geometry)}"/>`)}
${pointsOf(geometries).map(([lon = 0, lat = 0]) => html`<circle class="place point" cx="${lon}" cy="${-lat}" r="${width / 80}"/>`)}
</svg>
</div>`;
}

const MIN_DEGREES = 6;

/** The bounds with a margin, at least 6° high and twice as wide as high, inside the world. */
function viewAround([west, south, east, north]: Bounds): Bounds {
  const height = Math.min(180, Math.max(MIN_DEGREES, (north - south) * 1.5, ((east - west) * 1.5) / 2));
  const width = Math.min(360, height * 2);
  const left = clamp((west + east) / 2 - width / 2, -180, 180 - width);
  const bottom = clamp((south + north) / 2 - height / 2, -90, 90 - height);
  return [left, bottom, left + width, bottom + height];
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
