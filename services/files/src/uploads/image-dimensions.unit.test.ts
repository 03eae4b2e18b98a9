import { describe, expect, test } from '@jest/globals';
import { imageDimensions } from './image-dimensions.ts';

const inMemory = (bytes: Buffer) => ({
  slice: async ({ start, end }: { start: number; end: number }) => bytes.subarray(start, end + 1),
});

const png = (width: number, height: number) => {
  const bytes = Buffer.alloc(40);
  bytes.write('89504e470d0a1a0a0000000d49484452', 'hex');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
};

const gif = Buffer.concat([Buffer.from('GIF89a'), Buffer.from([0x40, 0x01, 0xf0, 0x00]), Buffer.alloc(10)]);

/** A JPEG whose frame header follows a comment and a profile of some size. */
function jpeg(profileBytes: number): Buffer {
  const segment = (marker: number, body: Buffer) => {
    const head = Buffer.from([0xff, marker, 0, 0]);
    head.writeUInt16BE(body.length + 2, 2);
    return Buffer.concat([head, body]);
  };
  const profile: Buffer[] = [];
  for (let left = profileBytes; left > 0; left -= 60_000)
    profile.push(segment(0xe2, Buffer.alloc(Math.min(left, 60_000))));
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1')),
    ...profile,
    segment(0xc0, Buffer.from([8, 0x01, 0x68, 0x02, 0x80, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1])),
    Buffer.alloc(100),
  ]);
}

/** A TIFF with its directory after that many bytes of image, and a second directory announced. */
function tiff(isLittle: boolean, gapBytes: number): Buffer {
  const bytes = Buffer.alloc(8 + gapBytes + 2 + 2 * 12 + 4, 0xab);
  const u16 = (value: number, at: number) =>
    isLittle ? bytes.writeUInt16LE(value, at) : bytes.writeUInt16BE(value, at);
  const u32 = (value: number, at: number) =>
    isLittle ? bytes.writeUInt32LE(value, at) : bytes.writeUInt32BE(value, at);
  bytes.write(isLittle ? 'II' : 'MM', 0, 'latin1');
  u16(42, 2);
  u32(8 + gapBytes, 4);
  u16(2, 8 + gapBytes);
  const entry = (index: number, tag: number, value: number) => {
    const at = 8 + gapBytes + 2 + index * 12;
    u16(tag, at);
    u16(4, at + 2);
    u32(1, at + 4);
    u32(value, at + 8);
  };
  entry(0, 256, 5_000);
  entry(1, 257, 4_000);
  u32(8, 8 + gapBytes + 26);
  return bytes;
}

describe('the dimensions of an image', () => {
  test.each([
    ['a PNG', png(640, 360), 'image/png', { width: 640, height: 360 }],
    ['a GIF', gif, 'image/gif', { width: 320, height: 240 }],
    ['a JPEG', jpeg(0), 'image/jpeg', { width: 640, height: 360 }],
    ['a JPEG with a large profile', jpeg(200_000), 'image/jpeg', { width: 640, height: 360 }],
    ['a TIFF', tiff(true, 0), 'image/tiff', { width: 5_000, height: 4_000 }],
    ['a big-endian TIFF', tiff(false, 0), 'image/tiff', { width: 5_000, height: 4_000 }],
    ['a TIFF with its directory far behind', tiff(true, 900_000), 'image/tiff', null],
    ['a PNG without size', png(0, 0), 'image/png', null],
    ['a PNG of absurd size', png(4_294_967_295, 1), 'image/png', null],
    ['a PNG named otherwise', png(640, 360), 'image/jpeg', null],
    ['a cut PNG', png(640, 360).subarray(0, 18), 'image/png', null],
    ['a cut JPEG', jpeg(200_000).subarray(0, 100_000), 'image/jpeg', null],
    ['a cut TIFF', tiff(true, 0).subarray(0, 12), 'image/tiff', null],
    ['a TIFF pointing nowhere', tiff(true, 100).subarray(0, 60), 'image/tiff', null],
    ['nothing', Buffer.alloc(0), 'image/tiff', null],
    ['text', Buffer.from('hello'), 'image/gif', null],
    ['a text file', png(640, 360), 'text/plain', null],
  ])('%s', async (_name, bytes, mimetype, dimensions) => {
    expect(await imageDimensions(inMemory(bytes), mimetype)).toEqual(dimensions);
  });

  test('are not searched for long in hostile bytes', async () => {
    const started = performance.now();
    const hostile = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(1_000_000)]);
    expect(await imageDimensions(inMemory(hostile), 'image/jpeg')).toBeNull();
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
