/** One stored file as described in the records of a ZIP file (PKWARE's APPNOTE, 4.3). */
export interface ZipItem {
  name: string;
  sizeBytes: number;
  crc32: number;
  modifiedAt: Date;
}

/** The largest number that a field of 32 bits can have without meaning that the ZIP64 field has it. */
const MAX_FIELD_32 = 0xffff_fffe;
const SEE_ZIP64_32 = 0xffff_ffff;
const MAX_FIELD_16 = 0xfffe;
const SEE_ZIP64_16 = 0xffff;

const VERSION = { plain: 20, zip64: 45 };
const MADE_ON_UNIX = 3 << 8;
const NAMES_ARE_UTF8 = 0x0800;
const STORED = 0;
const PLAIN_FILE = 0o100644;

const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const TIMES_BYTES = 9;
const END_BYTES = 22;
const ZIP64_END_BYTES = 56;
const ZIP64_LOCATOR_BYTES = 20;

function localHeaderBytes({ name, sizeBytes }: ZipItem): number {
  return LOCAL_BYTES + Buffer.byteLength(name) + TIMES_BYTES + zip64Bytes(sizeBytes > MAX_FIELD_32 ? 2 : 0);
}

/** The record before the bytes of a file. */
function localHeader(item: ZipItem): Buffer {
  const isLarge = item.sizeBytes > MAX_FIELD_32;
  const extra = Buffer.concat([times(item), zip64(isLarge ? [item.sizeBytes, item.sizeBytes] : [])]);
  const fixed = Buffer.alloc(LOCAL_BYTES);
  fixed.write('PK\x03\x04', 'latin1');
  writeCommon(fixed, 4, item, { extraBytes: extra.length, isZip64: isLarge });
  return Buffer.concat([fixed, Buffer.from(item.name), extra]);
}

function centralHeaderBytes({ name, sizeBytes }: ZipItem, offset: number): number {
  const large = (sizeBytes > MAX_FIELD_32 ? 2 : 0) + (offset > MAX_FIELD_32 ? 1 : 0);
  return CENTRAL_BYTES + Buffer.byteLength(name) + TIMES_BYTES + zip64Bytes(large);
}

/** A file in the directory at the end. @param offset where its local header is */
function centralHeader(item: ZipItem, offset: number): Buffer {
  const large = item.sizeBytes > MAX_FIELD_32 ? [item.sizeBytes, item.sizeBytes] : [];
  if (offset > MAX_FIELD_32) large.push(offset);
  const extra = Buffer.concat([times(item), zip64(large)]);
  const fixed = Buffer.alloc(CENTRAL_BYTES);
  fixed.write('PK\x01\x02', 'latin1');
  fixed.writeUInt16LE(MADE_ON_UNIX | VERSION.zip64, 4);
  writeCommon(fixed, 6, item, { extraBytes: extra.length, isZip64: large.length > 0 });
  fixed.writeUInt32LE(PLAIN_FILE * 0x1_0000, 38);
  fixed.writeUInt32LE(offset > MAX_FIELD_32 ? SEE_ZIP64_32 : offset, 42);
  return Buffer.concat([fixed, Buffer.from(item.name), extra]);
}

interface Directory {
  entries: number;
  sizeBytes: number;
  offset: number;
}

function endBytes(directory: Directory): number {
  return END_BYTES + (isZip64(directory) ? ZIP64_END_BYTES + ZIP64_LOCATOR_BYTES : 0);
}

/** The records after the directory, with its position. */
function endRecords(directory: Directory): Buffer {
  const { entries, sizeBytes, offset } = directory;
  const end = Buffer.alloc(END_BYTES);
  end.write('PK\x05\x06', 'latin1');
  const count = entries > MAX_FIELD_16 ? SEE_ZIP64_16 : entries;
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(sizeBytes > MAX_FIELD_32 ? SEE_ZIP64_32 : sizeBytes, 12);
  end.writeUInt32LE(offset > MAX_FIELD_32 ? SEE_ZIP64_32 : offset, 16);
  if (!isZip64(directory)) return end;

  const large = Buffer.alloc(ZIP64_END_BYTES);
  large.write('PK\x06\x06', 'latin1');
  large.writeBigUInt64LE(BigInt(ZIP64_END_BYTES - 12), 4);
  large.writeUInt16LE(MADE_ON_UNIX | VERSION.zip64, 12);
  large.writeUInt16LE(VERSION.zip64, 14);
  for (const [at, value] of [entries, entries, sizeBytes, offset].entries())
    large.writeBigUInt64LE(BigInt(value), 24 + 8 * at);
  const locator = Buffer.alloc(ZIP64_LOCATOR_BYTES);
  locator.write('PK\x06\x07', 'latin1');
  locator.writeBigUInt64LE(BigInt(offset + sizeBytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([large, locator, end]);
}

function isZip64({ entries, sizeBytes, offset }: Directory): boolean {
  return entries > MAX_FIELD_16 || sizeBytes > MAX_FIELD_32 || offset > MAX_FIELD_32;
}

/** The fields that both headers of a file have, in the same order. */
function writeCommon(
  header: Buffer,
  at: number,
  { name, sizeBytes, crc32, modifiedAt }: ZipItem,
  { extraBytes, isZip64 }: { extraBytes: number; isZip64: boolean },
): void {
  const size = sizeBytes > MAX_FIELD_32 ? SEE_ZIP64_32 : sizeBytes;
  const { date, time } = dosTime(modifiedAt);
  header.writeUInt16LE(isZip64 ? VERSION.zip64 : VERSION.plain, at);
  header.writeUInt16LE(NAMES_ARE_UTF8, at + 2);
  header.writeUInt16LE(STORED, at + 4);
  header.writeUInt16LE(time, at + 6);
  header.writeUInt16LE(date, at + 8);
  header.writeUInt32LE(crc32, at + 10);
  header.writeUInt32LE(size, at + 14);
  header.writeUInt32LE(size, at + 18);
  header.writeUInt16LE(Buffer.byteLength(name), at + 22);
  header.writeUInt16LE(extraBytes, at + 24);
}

/** Its unit is two seconds, its epoch 1980, and its time zone undefined: here UTC. */
function dosTime(instant: Date): { date: number; time: number } {
  const year = Math.max(0, instant.getUTCFullYear() - 1980);
  return {
    date: (year << 9) | ((instant.getUTCMonth() + 1) << 5) | instant.getUTCDate(),
    time: (instant.getUTCHours() << 11) | (instant.getUTCMinutes() << 5) | (instant.getUTCSeconds() >> 1),
  };
}

/** The instant in seconds since 1970, UTC, for readers that know the field. */
function times({ modifiedAt }: ZipItem): Buffer {
  const field = Buffer.alloc(TIMES_BYTES);
  field.write('UT', 'latin1');
  field.writeUInt16LE(TIMES_BYTES - 4, 2);
  field.writeUInt8(1, 4);
  field.writeUInt32LE(Math.floor(modifiedAt.getTime() / 1_000), 5);
  return field;
}

function zip64Bytes(numbers: number): number {
  return numbers === 0 ? 0 : 4 + 8 * numbers;
}

/** The numbers that do not fit into their fields. */
function zip64(numbers: readonly number[]): Buffer {
  const field = Buffer.alloc(zip64Bytes(numbers.length));
  if (numbers.length === 0) return field;
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(8 * numbers.length, 2);
  for (const [at, value] of numbers.entries()) field.writeBigUInt64LE(BigInt(value), 4 + 8 * at);
  return field;
}

/** A stretch of a ZIP file: some of its records, or the bytes of one of its files. */
export interface Piece<Item> {
  offset: number;
  sizeBytes: number;
  content: { item: Item } | { records: () => Buffer };
}

export interface ZipLayout<Item> {
  sizeBytes: number;
  /** One behind the other, without gaps. */
  pieces: readonly Piece<Item>[];
}

/**
 * The layout of a ZIP file with these files, uncompressed. It follows from their descriptions alone, so
 * any part of the archive can be generated separately. Numbers above 32 bits use ZIP64.
 */
export function zipLayout<Item extends ZipItem>(items: readonly Item[]): ZipLayout<Item> {
  const pieces: Piece<Item>[] = [];
  let sizeBytes = 0;
  const add = (bytes: number, content: Piece<Item>['content']): number => {
    const offset = sizeBytes;
    if (bytes > 0) pieces.push({ offset, sizeBytes: bytes, content });
    sizeBytes += bytes;
    return offset;
  };
  const offsets = items.map((item) => {
    const offset = add(localHeaderBytes(item), { records: () => localHeader(item) });
    add(item.sizeBytes, { item });
    return offset;
  });
  const directoryAt = sizeBytes;
  for (const [index, item] of items.entries()) {
    const offset = offsets[index] ?? 0;
    add(centralHeaderBytes(item, offset), { records: () => centralHeader(item, offset) });
  }
  const directory = { entries: items.length, sizeBytes: sizeBytes - directoryAt, offset: directoryAt };
  add(endBytes(directory), { records: () => endRecords(directory) });
  return { sizeBytes, pieces };
}
