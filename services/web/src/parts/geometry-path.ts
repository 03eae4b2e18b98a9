/** Draws geometries on a plane of degrees, y pointing down, with two decimals (about a kilometre). */
export function pathOf(geometry: GeoJSON.Geometry): string {
  switch (geometry.type) {
    case 'LineString':
      return line(geometry.coordinates);
    case 'MultiLineString':
      return geometry.coordinates.map(line).join('');
    case 'Polygon':
      return geometry.coordinates.map(ring).join('');
    case 'MultiPolygon':
      return geometry.coordinates.flat().map(ring).join('');
    default:
      return '';
  }
}

function line(points: readonly GeoJSON.Position[]): string {
  return points
    .map(([lon = 0, lat = 0], index) => `${index === 0 ? 'M' : 'L'}${at(lon)} ${at(-lat)}`)
    .join('');
}

function ring(points: readonly GeoJSON.Position[]): string {
  return `${line(points)}Z`;
}

function at(degrees: number): number {
  return Math.round(degrees * 100) / 100;
}
