import { GIF } from 'image-size/types/gif';
import type { IImage } from 'image-size/types/interface';
import { JPG } from 'image-size/types/jpg';
import { PNG } from 'image-size/types/png';
import { TIFF } from 'image-size/types/tiff';
import type { OpenBlob } from '../blob/blob-store.ts';
import type { Dimensions } from '../file-entry.ts';

// The entry point of the library also guesses among many other formats.
const FORMATS: Readonly<Record<string, IImage>> = {
  'image/gif': GIF,
  'image/jpeg': JPG,
  'image/png': PNG,
  'image/tiff': TIFF,
};
/** Enough for the largest EXIF block and colour profile that usually precede a JPEG's frame header. */
const HEAD_BYTES = 262_144;
const MAX_PIXELS = 2_147_483_647;

/** Whether `imageDimensions` has anything to find in files of this type. */
export function isMeasured(mimetype: string): boolean {
  return Object.hasOwn(FORMATS, mimetype);
}

/** Width and height as the first bytes of an image state them; null if they are not of this type or lie further behind. */
export async function imageDimensions(
  blob: Pick<OpenBlob, 'slice'>,
  mimetype: string,
): Promise<Dimensions | null> {
  const format = FORMATS[mimetype];
  if (format === undefined) return null;
  const head = await blob.slice({ start: 0, end: HEAD_BYTES - 1 });
  // A copy in a separate buffer: the library reads past the end of a view.
  const bytes = Uint8Array.from(head);
  try {
    if (!format.validate(bytes)) return null;
    const { width, height } = format.calculate(bytes);
    return isLength(width) && isLength(height) ? { width, height } : null;
  } catch {
    // The library throws at bytes that are no such image: the upload is a file like any other.
    return null;
  }
}

function isLength(pixels: number): boolean {
  return Number.isInteger(pixels) && pixels > 0 && pixels <= MAX_PIXELS;
}
