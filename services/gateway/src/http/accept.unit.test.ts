import { describe, expect, test } from '@jest/globals';
import { chooseMediaType } from './accept.ts';

const JSON_TYPE = 'application/json';
const VENDOR_TYPE = 'application/vnd.inveniordm.v1+json';

describe('accept', () => {
  test.each<[accept: string | undefined, chosen: string]>([
    [undefined, JSON_TYPE],
    ['', JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    ['application/json', JSON_TYPE],
    ['APPLICATION/JSON', JSON_TYPE],
    ['application/json; charset=utf-8', JSON_TYPE],
    ['application/json;profile="a,b;q=0"', JSON_TYPE],
    [VENDOR_TYPE, VENDOR_TYPE],
    [`application/json;q=0.5, ${VENDOR_TYPE}`, VENDOR_TYPE],
    [`${VENDOR_TYPE};q=0.2, application/json;q=0.3`, JSON_TYPE],
    ['application/json;q=0, */*', VENDOR_TYPE],
    ['text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8', JSON_TYPE],
    ['image/png, application/json;q=0.1', JSON_TYPE],
  ])('%s gives %s', (accept, chosen) => {
    expect(chooseMediaType(accept, 'entity')).toBe(chosen);
  });

  test.each(['image/png', 'text/*', 'application/json;q=0', 'application/x-bibtex', 'rubbish'])(
    '%s is not acceptable, and the refusal names what is',
    (accept) => {
      expect(() => chooseMediaType(accept, 'entity')).toThrow(
        "Invalid 'Accept' header. Expected one of: application/json, application/vnd.inveniordm.v1+json",
      );
    },
  );

  test.each<[accept: string, chosen: string]>([
    ['text/csv', 'text/csv'],
    ['text/*', 'text/csv'],
    ['application/geo+json, application/json;q=0.9', 'application/geo+json'],
    ['text/csv;q=0.1, application/json', JSON_TYPE],
    ['text/html, */*;q=0.8', JSON_TYPE],
  ])('%s gives hits as %s', (accept, chosen) => {
    expect(chooseMediaType(accept, 'hits')).toBe(chosen);
  });

  test('names tables and features where hits are refused', () => {
    expect(() => chooseMediaType('image/png', 'hits')).toThrow(/text\/csv, application\/geo\+json$/);
    expect(() => chooseMediaType('text/csv', 'json')).toThrow(/application\/vnd\.inveniordm\.v1\+json$/);
  });

  test('never keeps a download from its client', () => {
    expect(chooseMediaType('application/octet-stream', 'any')).toBe(JSON_TYPE);
  });

  test('takes no time for a hostile header', () => {
    const started = performance.now();
    try {
      chooseMediaType(`${'a/b;x="'.repeat(2_000)}`, 'json');
    } catch {
      // Either outcome is right.
    }
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
