import { describe, expect, test } from '@jest/globals';
import { contentHeaders } from '../downloads/get-content.ts';
import { mimetypeOf, servedType } from './media-type.ts';

const TEXT = 'text/plain; charset=utf-8';
const BYTES = 'application/octet-stream';

describe('a file on its way out', () => {
  test.each([
    ['map.txt', 'text/plain', TEXT],
    ['a.html', 'text/html', TEXT],
    ['a.HTM', 'text/html', TEXT],
    ['a.xhtml', 'application/xhtml+xml', TEXT],
    ['a.svg', 'image/svg+xml', TEXT],
    ['a.js', 'text/javascript', TEXT],
    ['a.json', 'application/json', TEXT],
    ['a.css', 'text/css', TEXT],
    ['a.csv', 'text/csv', TEXT],
    ['a.png', 'image/png', 'image/png'],
    ['a.jpeg', 'image/jpeg', 'image/jpeg'],
    ['a.tif', 'image/tiff', 'image/tiff'],
    ['a.mp3', 'audio/mpeg', 'audio/mpeg'],
    ['a.pdf', 'application/pdf', BYTES],
    ['a.zip', 'application/zip', BYTES],
    ['a.geojson', 'application/geo+json', BYTES],
    ['README', BYTES, TEXT],
    ['unknown', BYTES, BYTES],
    ['a.html.', BYTES, BYTES],
    ['.html', 'text/html', TEXT],
  ])('%s is %s and served as %s', (key, mimetype, served) => {
    expect([mimetypeOf(key), servedType(mimetypeOf(key), key)]).toEqual([mimetype, served]);
  });

  test('is saved under its unchanged name, with any characters', () => {
    const content = {
      objectId: 'o',
      versionId: 'v',
      sizeBytes: 1,
      md5: '9dd4e461268c8034f5c8564e155c67a6',
      sha256: 'a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447',
      mimetype: BYTES,
      storedAt: new Date(1_795_244_085_999),
      dimensions: null,
    };
    const names = ['a.bin', 'a b".bin', 'ação.bin', "it's;filename=evil.html", '😀'];
    expect(names.map((key) => contentHeaders(key, content)['content-disposition'])).toEqual([
      'attachment; filename=a.bin',
      'attachment; filename="a b\\".bin"',
      'attachment; filename="a??o.bin"; filename*=UTF-8\'\'a%C3%A7%C3%A3o.bin',
      'attachment; filename="it\'s;filename=evil.html"',
      'attachment; filename="??"; filename*=UTF-8\'\'%F0%9F%98%80',
    ]);
    expect(contentHeaders('map.txt', { ...content, mimetype: 'text/plain' })).toEqual({
      'content-disposition': 'inline',
      'repr-digest': 'sha-256=:qUiQTy8PR5uPgZdpSzAYSw0u0cHNKh7A+4XSmaGSpEc=:',
    });
  });
});
