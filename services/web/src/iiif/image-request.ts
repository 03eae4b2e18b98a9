import { ApiError } from '../api/repository.ts';

/** Parameters of a request of the IIIF Image API, all checked. @see https://iiif.io/api/image/3.0/#4-image-requests */
export interface ImageRequest {
  region: Region;
  size: Size;
  /** Clockwise, in degrees. */
  rotation: number;
  isMirrored: boolean;
  quality: 'default' | 'color' | 'gray' | 'bitonal';
  format: 'jpg' | 'png' | 'webp';
}

export type Region =
  | 'full'
  | 'square'
  | { unit: 'px' | 'pct'; x: number; y: number; width: number; height: number };
export type Size = 'max' | { percent: number } | { width?: number; height?: number; isFitted: boolean };

/** @throws ApiError 400 naming the invalid parameter */
export function readImageRequest(region: string, size: string, rotation: string, file: string): ImageRequest {
  const [, quality, format] = /^(default|color|gray|bitonal)\.(jpg|png|webp)$/.exec(file) ?? [];
  if (quality === undefined || format === undefined)
    throw invalid('quality.format', 'default, color, gray or bitonal, and jpg, png or webp');
  const [, mirror, degrees] = /^(!?)(\d{1,3}(?:\.\d+)?)$/.exec(rotation) ?? [];
  if (degrees === undefined || Number(degrees) > 360)
    throw invalid('rotation', '0 to 360, with ! before it for mirroring');
  return {
    region: readRegion(region),
    size: readSize(size),
    rotation: Number(degrees),
    isMirrored: mirror === '!',
    quality: quality as ImageRequest['quality'],
    format: format as ImageRequest['format'],
  };
}

function readRegion(text: string): Region {
  if (text === 'full' || text === 'square') return text;
  const [, percent, list = ''] = /^(pct:)?((?:\d+(?:\.\d+)?,){3}\d+(?:\.\d+)?)$/.exec(text) ?? [];
  const [x = 0, y = 0, width = 0, height = 0] = list.split(',').map(Number);
  if (width <= 0 || height <= 0) throw invalid('region', 'full, square, x,y,w,h or pct:x,y,w,h');
  return { unit: percent === undefined ? 'px' : 'pct', x, y, width, height };
}

function readSize(text: string): Size {
  // `full` is the name of version 2.
  if (text === 'max' || text === 'full') return 'max';
  const [, percent] = /^pct:(\d{1,3}(?:\.\d+)?)$/.exec(text) ?? [];
  if (percent !== undefined && Number(percent) > 0 && Number(percent) <= 100)
    return { percent: Number(percent) };
  const [, fitted, width = '', height = ''] = /^(!?)(\d{0,5}),(\d{0,5})$/.exec(text) ?? [];
  if ((width === '' && height === '') || Number(width || 1) < 1 || Number(height || 1) < 1) {
    throw invalid('size', 'max, w,, ,h, w,h, !w,h or pct:n; larger than the image is not possible');
  }
  return {
    ...(width === '' ? {} : { width: Number(width) }),
    ...(height === '' ? {} : { height: Number(height) }),
    isFitted: fitted === '!' || width === '' || height === '',
  };
}

function invalid(field: string, rule: string): ApiError {
  return new ApiError(400, {
    status: 400,
    message: 'A validation error occurred.',
    code: 'invalid',
    errors: [{ field, messages: [`Must be ${rule}.`] }],
  });
}
