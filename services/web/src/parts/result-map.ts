import { boundsOf, type Entity, geometriesOf, pointsOf, titleOf } from '@kr/formats';
import { type Html, html } from '../html/html.ts';
import { link, type PageContext } from '../html/layout.ts';
import { pathOf } from './geometry-path.ts';
import { pagePath } from './hit.ts';

/**
 * The hits of a page on a map of the world, in degrees with y pointing down; `search.js` adds zoom and drawing of a box.
 * @param land URL of the outlines of the continents
 * @param box `west,north,east,south` of the search
 */
export function resultMap(
  hits: readonly Entity[],
  { land, box }: { land: string; box: string | null },
  context: PageContext,
): Html {
  const { texts } = context;
  const placed = hits
    .map((entity) => ({ entity, geometries: geometriesOf(entity.metadata.locations?.features ?? []) }))
    .filter(({ geometries }) => boundsOf(geometries) !== undefined);
  return html`<div class="map" id="result-map">
<div class="toolbar"><p class="muted">${texts.map.drawHint}</p>
<p class="zoom" hidden>${Object.entries(texts.map.moves).map(([edge, label]) => mapButton(edge, ARROWS[edge], label))}
${mapButton('in', '+', texts.map.zoomIn)}${mapButton('out', '−', texts.map.zoomOut)}${mapButton('world', '⟲', texts.map.reset)}</p></div>
<svg viewBox="-180 -90 360 180" role="group" aria-label="${texts.map.label}">
<use class="land" href="${land}#land"/>
${placed.map(
  ({
    entity,
    geometries,
  }) => html`<a href="${link(pagePath(entity), context)}"><title>${titleOf(entity)}</title>
${geometries.map((geometry) => html`<path class="place" d="${pathOf(geometry)}"/>`)}
${pointsOf(geometries).map(([lon = 0, lat = 0]) => html`<circle class="place point" cx="${lon}" cy="${-lat}" r="1.6"/>`)}
${markOfSmall(geometries)}</a>`,
)}
${boxOf(box)}
</svg>
${placed.length < hits.length && html`<p class="muted">${texts.results.withoutPlace(hits.length - placed.length)}</p>`}
</div>`;
}

const ARROWS: Readonly<Record<string, string>> = { west: '←', north: '↑', south: '↓', east: '→' };

function mapButton(action: string, sign: string | undefined, label: string): Html {
  return html`<button type="button" data-map="${action}" aria-label="${label}" title="${label}">${sign}</button>`;
}

/** Small extents would be invisible on a map of the world. */
function markOfSmall(geometries: readonly GeoJSON.Geometry[]): Html | undefined {
  const bounds = boundsOf(geometries);
  if (bounds === undefined || pointsOf(geometries).length > 0) return undefined;
  const [west, south, east, north] = bounds;
  if (east - west > 4 || north - south > 4) return undefined;
  return html`<circle class="place point" cx="${(west + east) / 2}" cy="${-(south + north) / 2}" r="1.6"/>`;
}

function boxOf(box: string | null): Html | undefined {
  const edges = (box ?? '').split(',').map(Number);
  const [west, north, east, south] = edges;
  if (west === undefined || north === undefined || east === undefined || south === undefined)
    return undefined;
  if (edges.some(Number.isNaN) || west > east) return undefined;
  return html`<rect class="box" x="${west}" y="${-Math.max(north, south)}" width="${east - west}" height="${Math.abs(north - south)}"/>`;
}
