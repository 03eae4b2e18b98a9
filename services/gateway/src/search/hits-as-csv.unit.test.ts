import { describe, expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import { hitsAsCsv } from './formats.ts';

const HIT = {
  id: 'e7vvn-90a62',
  links: { self: 'http://h/api/records/e7vvn-90a62' },
  pids: { doi: { identifier: '10.5072/e7vvn-90a62' } },
  metadata: {
    title: 'Floods',
    publication_date: '2020-05',
    resource_type: { id: 'dataset' },
    rights: [{ id: 'cc-by-4.0' }],
    locations: {
      features: [
        { geometry: { type: 'Point', coordinates: [28, 45] } },
        { geometry: { type: 'MultiPoint', coordinates: [[29.5, 44.5]] } },
      ],
    },
    creators: [{ person_or_org: { name: 'Carberry, Josiah' } }, { person_or_org: { name: 'GEO' } }],
  },
  access: { status: 'open' },
};
const withTitle = (title: string) => ({ ...HIT, metadata: { ...HIT.metadata, title } });

describe('a table of hits', () => {
  test('has a header and a row for each hit', () => {
    expect(hitsAsCsv([HIT])).toBe(
      'id,doi,title,creators,publication_date,resource_type,access_status,url,licences,west,south,east,north\r\n' +
        'e7vvn-90a62,10.5072/e7vvn-90a62,Floods,"Carberry, Josiah; GEO",2020-05,dataset,open,' +
        'http://h/api/records/e7vvn-90a62,cc-by-4.0,28,44.5,29.5,45\r\n',
    );
    expect(hitsAsCsv([]).split('\r\n')).toHaveLength(2);
  });

  test('leaves empty what an entity lacks or has something else for', () => {
    const odd = {
      id: 'a',
      pids: null,
      metadata: { title: 7, creators: [null, {}, { person_or_org: [] }] },
      access: 'x',
    };
    expect(hitsAsCsv([odd]).split('\r\n')[1]).toBe('a,,,,,,,,,,,,');
  });

  test.each([
    [{ provider: 'local' }, ''],
    [{ provider: 'datacite', state: 'pending' }, ''],
    [{ provider: 'datacite', state: 'failed' }, ''],
    [{ provider: 'datacite', state: 'findable' }, '10.5072/a'],
    [{ provider: 'datacite', state: 'hidden' }, '10.5072/a'],
    [{ provider: 'external' }, '10.5072/a'],
  ])('has a DOI only if it is registered: %j', (doi, expected) => {
    const hit = { ...HIT, pids: { doi: { identifier: '10.5072/a', ...doi } } };
    expect((parse(hitsAsCsv([hit])) as string[][])[1]?.[1]).toBe(expected);
  });

  test.each<[title: string, expected: string]>([
    ['=HYPERLINK("http://x")', '\'=HYPERLINK("http://x")'],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t'=1"],
    ['\r=1', "'\r'=1"],
    ['  =1', "  '=1"],
    ['＝1', "'＝1"],
    ['x;=cmd|y', "x;'=cmd|y"],
    ['x; +1', "x; '+1"],
    ['x\t=1', "x\t'=1"],
    ['x\n=1\n-2', "x\n'=1\n'-2"],
    ['a=1', 'a=1'],
    ['"quoted", and\nbroken', '"quoted", and\nbroken'],
    [' blanks ', ' blanks '],
    ['Ação 日本 😀', 'Ação 日本 😀'],
  ])('of the title %j is read as %j', (title, expected) => {
    const rows = parse(hitsAsCsv([withTitle(title)])) as string[][];
    expect(rows).toHaveLength(2);
    expect(rows[1]?.[2]).toBe(expected);
    expect(rows[1]).toHaveLength(13);
  });

  test('is no formula by any of its creators either', () => {
    const creators = ['=cmd|x', '=cmd|y'].map((name) => ({ person_or_org: { name } }));
    const hit = { ...HIT, metadata: { ...HIT.metadata, creators } };
    expect((parse(hitsAsCsv([hit])) as string[][])[1]?.[3]).toBe("'=cmd|x; '=cmd|y");
  });

  test.each([',', ';', '\t'])(
    'has no cell that begins with a sign of formulas if it is read with %j',
    (delimiter) => {
      const creators = ['a; =1', '=2', '@3'].map((name) => ({ person_or_org: { name } }));
      const hit = withTitle("x;=cmd|' /C calc'!A0;y\t+1");
      const text = hitsAsCsv([{ ...hit, metadata: { ...hit.metadata, creators } }]);
      const cells = text.split(/[\r\n]/).flatMap((line) => line.split(delimiter));
      expect(cells.filter((one) => /^["\s]*[=+\-@]/.test(one))).toEqual([]);
    },
  );
});
