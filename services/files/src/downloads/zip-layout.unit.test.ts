import { Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader } from 'yauzl';
import { type ZipItem, type ZipLayout, zipLayout } from './zip.ts';

const AT = new Date('2026-11-21T06:54:45.500Z');

/** Reads the records of a layout, with zeros between them. */
class LayoutReader extends RandomAccessReader {
  readonly #layout: ZipLayout<ZipItem>;

  constructor(layout: ZipLayout<ZipItem>) {
    super();
    this.#layout = layout;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    const bytes = Buffer.alloc(end - start);
    for (const { offset, sizeBytes, content } of this.#layout.pieces) {
      if ('item' in content || offset >= end || offset + sizeBytes <= start) continue;
      const records = content.records();
      if (records.length !== sizeBytes) throw new Error(`${records.length} bytes instead of ${sizeBytes}`);
      const from = Math.max(0, start - offset);
      records.copy(bytes, offset + from - start, from);
    }
    return Readable.from([bytes]);
  }
}

async function entriesOf(layout: ZipLayout<ZipItem>): Promise<Entry[]> {
  const zip = await fromRandomAccessReaderPromise(new LayoutReader(layout), layout.sizeBytes);
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) entries.push(entry);
  return entries;
}

describe('the layout of an archive', () => {
  test.each([
    ['of nothing', []],
    ['of a file without bytes', [['empty', 0]]],
    [
      'of names in any script',
      [
        ['ação.txt', 3],
        ['名前', 4],
        ['😀', 5],
        ['a\u202eb', 6],
      ],
    ],
    [
      'up to the last offset of 32 bits',
      [
        ['a', 0xffff_fffe - 30 - 1 - 9],
        ['b', 1],
      ],
    ],
    [
      'from the first offset of more',
      [
        ['a', 0xffff_fffe - 30 - 1 - 9 + 1],
        ['b', 1],
      ],
    ],
    [
      'with a file of the most that fits into 32 bits',
      [
        ['a', 0xffff_fffe],
        ['b', 1],
      ],
    ],
    [
      'with a file of one byte more',
      [
        ['a', 0xffff_ffff],
        ['b', 1],
      ],
    ],
    [
      'with files of terabytes',
      [
        ['a', 5e12],
        ['b', 1],
        ['c', 5e12],
        ['d', 0],
      ],
    ],
  ] as [string, [name: string, sizeBytes: number][]][])('%s is read as it was written', async (_, files) => {
    const items = files.map(([name, sizeBytes], crc32) => ({ name, sizeBytes, crc32, modifiedAt: AT }));
    const layout = zipLayout(items);
    const entries = await entriesOf(layout);
    expect(entries.map((entry) => [entry.fileName, entry.uncompressedSize])).toEqual(files);
    for (const [index, entry] of entries.entries()) {
      const data = layout.pieces.find(({ content }) => 'item' in content && content.item === items[index]);
      const { name = '' } = items[index] ?? {};
      const header = layout.pieces.find(({ offset }) => offset === entry.relativeOffsetOfLocalHeader);
      expect([entry.compressionMethod, entry.crc32, entry.getLastModDate()]).toEqual([
        0,
        index,
        new Date('2026-11-21T06:54:45Z'),
      ]);
      expect(header?.sizeBytes).toBeGreaterThanOrEqual(30 + Buffer.byteLength(name));
      if (data !== undefined) expect(data.offset).toBe((header?.offset ?? 0) + (header?.sizeBytes ?? 0));
    }
  });

  test.each([65_534, 65_535, 65_536, 70_000])('of %d files is read as it was written', async (count) => {
    const items = Array.from({ length: count }, (_, index) => ({
      name: `${index}`,
      sizeBytes: 0,
      crc32: index,
      modifiedAt: AT,
    }));
    const zip = zipLayout(items);
    const reader = new LayoutReader(zip);
    const { entryCount } = await fromRandomAccessReaderPromise(reader, zip.sizeBytes);
    expect(entryCount).toBe(count);
  });

  test('has no gaps', () => {
    const sizes = [0, 1, 5e9, 0, 3];
    const items = sizes.map((sizeBytes, index) => ({
      name: `ü${index}`,
      sizeBytes,
      crc32: 0,
      modifiedAt: AT,
    }));
    const { pieces, sizeBytes } = zipLayout(items);
    let offset = 0;
    for (const piece of pieces) {
      expect(piece.offset).toBe(offset);
      offset += piece.sizeBytes;
    }
    expect(sizeBytes).toBe(offset);
  });
});
