import sharp from 'sharp';
import { ApiError } from '../api/repository.ts';
import type { ImageRequest, Region, Size } from './image-request.ts';

/** Most pixels of a decoded image, and most pixels along a side of a result. */
const MAX_INPUT_PIXELS = 100_000_000;
const MAX_OUTPUT_SIDE = 4_096;

export const IMAGE_TYPES = { jpg: 'image/jpeg', png: 'image/png', webp: 'image/webp' } as const;

/** Renders an image as requested. @throws ApiError 400: the bytes are no image, or the region is outside it */
export async function renderImage(bytes: Buffer, request: ImageRequest): Promise<Buffer> {
  try {
    // The orientation of a camera is applied first: regions are those of the image that people see.
    const image = sharp(await sharp(bytes, { limitInputPixels: MAX_INPUT_PIXELS }).rotate().toBuffer(), {
      limitInputPixels: MAX_INPUT_PIXELS,
    });
    const { width = 0, height = 0 } = await image.metadata();
    const region = pixelsOf(request.region, width, height);
    const size = sizeOf(request.size, region.width, region.height);
    let result = image.extract(region).resize({ ...size, fit: 'fill' });
    if (request.isMirrored) result = result.flop();
    if (request.rotation % 360 !== 0) result = result.rotate(request.rotation, { background: '#ffffff' });
    if (request.quality === 'gray') result = result.grayscale();
    if (request.quality === 'bitonal') result = result.threshold();
    return await result.toFormat(request.format === 'jpg' ? 'jpeg' : request.format).toBuffer();
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw refused('The file cannot be read as an image.', error);
  }
}

/** Width and height of an image as people see it; `undefined` if the bytes are no image. */
export async function dimensionsOf(bytes: Buffer): Promise<{ width: number; height: number } | undefined> {
  const { autoOrient } = await sharp(bytes, { limitInputPixels: MAX_INPUT_PIXELS })
    .metadata()
    .catch(() => ({ autoOrient: undefined }));
  return autoOrient;
}

interface Pixels {
  left: number;
  top: number;
  width: number;
  height: number;
}

function pixelsOf(region: Region, width: number, height: number): Pixels {
  if (region === 'full') return { left: 0, top: 0, width, height };
  if (region === 'square') {
    const side = Math.min(width, height);
    return {
      left: Math.floor((width - side) / 2),
      top: Math.floor((height - side) / 2),
      width: side,
      height: side,
    };
  }
  const [across, down] = region.unit === 'pct' ? [width / 100, height / 100] : [1, 1];
  const left = Math.round(region.x * across);
  const top = Math.round(region.y * down);
  const pixels = {
    left,
    top,
    width: Math.min(width - left, Math.round(region.width * across)),
    height: Math.min(height - top, Math.round(region.height * down)),
  };
  if (pixels.width < 1 || pixels.height < 1) throw refused('The region is outside the image.');
  return pixels;
}

function sizeOf(size: Size, width: number, height: number): { width: number; height: number } {
  const scale = scaleOf(size, width, height);
  const [across, down] = typeof scale === 'number' ? [scale, scale] : scale;
  if (across > 1 || down > 1) throw refused('The image is smaller than the requested size.');
  const shrink = Math.min(1, MAX_OUTPUT_SIDE / Math.max(width * across, height * down));
  return {
    width: Math.max(1, Math.round(width * across * shrink)),
    height: Math.max(1, Math.round(height * down * shrink)),
  };
}

function scaleOf(size: Size, width: number, height: number): number | [across: number, down: number] {
  if (size === 'max') return 1;
  if ('percent' in size) return size.percent / 100;
  const across = size.width === undefined ? Infinity : size.width / width;
  const down = size.height === undefined ? Infinity : size.height / height;
  return size.isFitted ? Math.min(across, down) : [across, down];
}

function refused(message: string, cause?: unknown): ApiError {
  const error = new ApiError(400, { status: 400, message, code: 'invalid' });
  error.cause = cause;
  return error;
}
