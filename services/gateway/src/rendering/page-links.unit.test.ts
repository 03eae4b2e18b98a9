import { describe, expect, test } from '@jest/globals';
import { cursorLinks, pageLinks } from './page-links.ts';

const URL = 'http://h/api/search';
const parameters: [string, string][] = [['sort', 'newest']];

describe('links of a listing', () => {
  test.each<{ name: string; page: number; size: number; total: number; links: object }>([
    {
      name: 'a single page links to itself',
      page: 1,
      size: 10,
      total: 10,
      links: { self: `${URL}?page=1&size=10&sort=newest` },
    },
    {
      name: 'a page between links to both sides',
      page: 2,
      size: 10,
      total: 21,
      links: {
        self: `${URL}?page=2&size=10&sort=newest`,
        prev: `${URL}?page=1&size=10&sort=newest`,
        next: `${URL}?page=3&size=10&sort=newest`,
      },
    },
    {
      name: 'the last page of the window has no next',
      page: 10,
      size: 1_000,
      total: 50_000,
      links: {
        self: `${URL}?page=10&size=1000&sort=newest`,
        prev: `${URL}?page=9&size=1000&sort=newest`,
      },
    },
    {
      name: 'nothing links to itself',
      page: 1,
      size: 1,
      total: 0,
      links: { self: `${URL}?page=1&size=1&sort=newest` },
    },
  ])('$name', ({ page, size, total, links }) => {
    expect(pageLinks(URL, { page, size, total, parameters })).toEqual(links);
  });

  test('a search goes as far as the search service lets it', () => {
    const next = (page: number, isNextTooFar: boolean) =>
      pageLinks(URL, { page, size: 10, total: 99_999, parameters, isNextTooFar })['next'];
    expect(next(2_000, false)).toBe(`${URL}?page=2001&size=10&sort=newest`);
    expect(next(2, true)).toBeUndefined();
  });

  test('parameters are sorted and escaped, those of one name in their order', () => {
    const filters: [string, string][] = [
      ['subject', 'b&c'],
      ['q', 'title:(a b) "ü"'],
      ['subject', 'a'],
      ['bbox', '9,51,13,40'],
    ];
    expect(pageLinks(URL, { page: 1, size: 1, total: 0, parameters: filters })).toEqual({
      self: `${URL}?bbox=9%2C51%2C13%2C40&page=1&q=title%3A%28a%20b%29%20%22%C3%BC%22&size=1&subject=b%26c&subject=a`,
    });
  });

  test('a cursor links forward as long as there is more', () => {
    expect(cursorLinks(URL, { cursor: '*', nextCursor: 'a_b-c', size: 2, parameters })).toEqual({
      self: `${URL}?cursor=%2A&size=2&sort=newest`,
      next: `${URL}?cursor=a_b-c&size=2&sort=newest`,
    });
    expect(cursorLinks(URL, { cursor: 'a', nextCursor: '', size: 2, parameters })).toEqual({
      self: `${URL}?cursor=a&size=2&sort=newest`,
    });
  });
});
