import { describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { ApiError } from '../api/repository.ts';
import { readImageRequest } from './image-request.ts';
import { dimensionsOf, renderImage } from './render-image.ts';

const image = await sharp({ create: { width: 40, height: 20, channels: 3, background: '#ff0000' } })
  .png()
  .toBuffer();

async function sizeOf(region: string, size: string, rotation = '0', file = 'default.png') {
  const rendered = await renderImage(image, readImageRequest(region, size, rotation, file));
  const { width, height, format } = await sharp(rendered).metadata();
  return [width, height, format];
}

describe('images', () => {
  test.each([
    ['full', 'max', '0', 'default.png', [40, 20, 'png']],
    ['full', 'full', '0', 'default.jpg', [40, 20, 'jpeg']],
    ['square', 'max', '0', 'gray.webp', [20, 20, 'webp']],
    ['10,5,20,10', 'max', '0', 'default.png', [20, 10, 'png']],
    ['pct:50,50,50,50', 'max', '0', 'default.png', [20, 10, 'png']],
    ['30,10,100,100', 'max', '0', 'default.png', [10, 10, 'png']],
    ['full', '20,', '0', 'default.png', [20, 10, 'png']],
    ['full', ',5', '0', 'default.png', [10, 5, 'png']],
    ['full', '10,10', '0', 'default.png', [10, 10, 'png']],
    ['full', '!10,10', '0', 'default.png', [10, 5, 'png']],
    ['full', 'pct:25', '!90', 'bitonal.png', [5, 10, 'png']],
  ])('%s/%s/%s/%s', async (region, size, rotation, file, expected) => {
    expect(await sizeOf(region, size, rotation, file)).toEqual(expected);
  });

  test.each([
    ['0,0,0,5', 'max', '0', 'default.png'],
    ['40,0,5,5', 'max', '0', 'default.png'],
    ['everything', 'max', '0', 'default.png'],
    ['full', '41,', '0', 'default.png'],
    ['full', '0,', '0', 'default.png'],
    ['full', 'pct:101', '0', 'default.png'],
    ['full', 'max', '361', 'default.png'],
    ['full', 'max', '0', 'default.gif'],
  ])('%s/%s/%s/%s is refused', async (region, size, rotation, file) => {
    await expect(sizeOf(region, size, rotation, file)).rejects.toThrow(ApiError);
  });

  test('bytes that are no image are refused', async () => {
    const request = readImageRequest('full', 'max', '0', 'default.png');
    await expect(renderImage(Buffer.from('no image'), request)).rejects.toThrow('cannot be read as an image');
    expect(await dimensionsOf(Buffer.from('no image'))).toBeUndefined();
    expect(await dimensionsOf(image)).toEqual({ width: 40, height: 20 });
  });
});
