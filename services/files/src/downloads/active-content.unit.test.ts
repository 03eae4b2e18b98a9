import { describe, expect, test } from '@jest/globals';
import { isAttachment, mimetypeOf, servedType } from '../http/media-type.ts';
import { contentHeaders, SAFETY } from './get-content.ts';

/** Types that a browser shows without executing anything. */
const HARMLESS = /^(?:text\/plain; charset=utf-8|image\/(?:gif|jpeg|png|tiff)|audio\/(?:mpeg|ogg|wav|webm))$/;

/** Names of files that some program executes, alone or disguised by another extension. */
const ACTIVE = [
  'page.html',
  'page.HTM',
  'page.xhtml',
  'page.xht',
  'page.shtml',
  'page.mhtml',
  'page.hta',
  'image.svg',
  'image.SVGZ',
  'image.svg.xml',
  'data.xml',
  'style.xsl',
  'style.xslt',
  'feed.rss',
  'feed.atom',
  'map.kml',
  'script.js',
  'script.mjs',
  'script.cjs',
  'module.wasm',
  'style.css',
  'page.php',
  'cache.appcache',
  'site.webmanifest',
  'paper.pdf',
  'paper.html.pdf',
  'film.swf',
  'applet.jar',
  'link.url',
  'page.html%00.png',
  'page.html.',
  'page.html ',
  '.html',
  'text.vtt',
  'math.mml',
];

describe('active content', () => {
  test.each(ACTIVE)('called %j is never run where it is shown', (key) => {
    const mimetype = mimetypeOf(key);
    const type = servedType(mimetype, key);
    const disposition = contentHeaders(key, {
      objectId: 'o',
      versionId: 'v',
      sizeBytes: 1,
      md5: '9dd4e461268c8034f5c8564e155c67a6',
      sha256: '',
      mimetype,
      storedAt: new Date(0),
      dimensions: null,
    })['content-disposition'];
    expect([type, isAttachment(type) || HARMLESS.test(type)]).toEqual([type, true]);
    expect(disposition).toMatch(isAttachment(type) ? /^attachment; filename/ : /^inline$/);
  });

  test('is isolated by the headers of every file, of any type', () => {
    expect(SAFETY).toMatchObject({
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
    });
  });

  test.each([
    ['GIF89a=1;alert(1)', 'a.gif', 'image/gif'],
    ['<script>alert(1)</script>', 'a.png', 'image/png'],
    ['%PDF-1.7 <html><script>', 'a.pdf', 'application/octet-stream'],
    ['<html>', 'README', 'text/plain; charset=utf-8'],
    ['<html>', 'no ending', 'application/octet-stream'],
  ])('in a file of another kind, %j as %s, is served as %s and not guessed', (_, key, type) => {
    expect(servedType(mimetypeOf(key), key)).toBe(type);
  });
});
