import { GIF } from 'image-size/types/gif';
import type { IImage } from 'image-size/types/interface';
import { JPG } from 'image-size/types/jpg';
import { PNG } from 'image-size/types/png';
import { TIFF } from 'image-size/types/tiff';
import type { OpenBlob } from '../blob/blob-store.ts';
import type { Dimensions } from '../file-entry.ts';

const FORMATS: Readonly<Record<string, IImage>> = {
  'image/gif': GIF,
  'image/jpeg': JPG,
  'image/png': PNG,
  'image/tiff': TIFF,
};
/** Enough for the largest EXIF block and colour profile that usually come before a JPEG's frame header. */
const HEAD_BYTES = 262_144;
const TIFF_DIRECTORY_BYTES = 16_384;
const LARGEST = 2_147_483_647;

/** Whether `imageDimensions` has anything to find in files of this type. */
export function isMeasured(mimetype: string): boolean {
  return Object.hasOwn(FORMATS, mimetype);
}

/** Width and height as an image's header bytes state them; null where they are not what the type promises. */
export async function imageDimensions(
  blob: Pick<OpenBlob, 'slice'>,
  mimetype: string,
): Promise<Dimensions | null> {
  const format = FORMATS[mimetype];
  if (format === undefined) return null;
  const head = await blob.slice({ start: 0, end: HEAD_BYTES - 1 });
  // A copy of its own memory: the library reads past the end of a view.
  const bytes = Uint8Array.from(format === TIFF ? await withTiffDirectory(blob, head) : head);
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
  return Number.isInteger(pixels) && pixels > 0 && pixels <= LARGEST;
}

/**
 * A TIFF names its sizes in a directory anywhere in the file: given back alone, right after the file's header, so that
 * what follows it is not taken for more of it.
 */
async function withTiffDirectory(blob: Pick<OpenBlob, 'slice'>, head: Buffer): Promise<Buffer> {
  if (head.length < 16) return head;
  const isLittle = head.toString('latin1', 0, 2) === 'II';
  const isBig = (isLittle ? head.readUInt16LE(2) : head.readUInt16BE(2)) === 43;
  const start = directoryOffset(head, isLittle, isBig);
  if (start > Number.MAX_SAFE_INTEGER) return head;
  const directory = await blob.slice({ start, end: start + TIFF_DIRECTORY_BYTES - 1 });
  const header = Buffer.from(head.subarray(0, isBig ? 16 : 8));
  if (isBig && isLittle) header.writeBigUInt64LE(16n, 8);
  else if (isBig) header.writeBigUInt64BE(16n, 8);
  else if (isLittle) header.writeUInt32LE(8, 4);
  else header.writeUInt32BE(8, 4);
  // The library wants more bytes than its last entry; an empty entry ends its reading.
  return Buffer.concat([
    header,
    directory.subarray(0, directoryBytes(directory, isLittle, isBig)),
    Buffer.alloc(24),
  ]);
}

function directoryOffset(head: Buffer, isLittle: boolean, isBig: boolean): number {
  if (isBig) return Number(isLittle ? head.readBigUInt64LE(8) : head.readBigUInt64BE(8));
  return isLittle ? head.readUInt32LE(4) : head.readUInt32BE(4);
}

function directoryBytes(directory: Buffer, isLittle: boolean, isBig: boolean): number {
  if (directory.length < 8) return 0;
  if (isBig) return 8 + 20 * Number(isLittle ? directory.readBigUInt64LE(0) : directory.readBigUInt64BE(0));
  return 2 + 12 * (isLittle ? directory.readUInt16LE(0) : directory.readUInt16BE(0));
}
