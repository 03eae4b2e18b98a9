import { describe, expect, test } from '@jest/globals';
import type { Form, Kind } from '../kind.ts';
import { entityLinks, fileLinks, fileListLinks } from './links.ts';

const BASE = 'https://hub.example.org';
const API = `${BASE}/api`;
const ID = 'e7vvn-90a62';
const PARENT = 'qbyhw-yw493';

const COMMON = (all: string) => ({
  versions: `${API}/${all}/${ID}/versions`,
  access_links: `${API}/${all}/${ID}/access/links`,
  reserve_doi: `${API}/${all}/${ID}/draft/pids/doi`,
});

const CONTEXT = {
  context_html: `${BASE}/packages/${ID}/dashboard`,
  context_resources: `${API}/packages/context/${PARENT}/resources`,
  context_associate: `${API}/packages/${ID}/context/actions/associate`,
  context_dissociate: `${API}/packages/${ID}/context/actions/dissociate`,
};

describe('links of entities', () => {
  test.each<{ name: string; kind: Kind; form: Form; links: Record<string, string> }>([
    {
      name: 'a draft resource links to its publication and to the latest version',
      kind: 'record',
      form: 'draft',
      links: {
        self: `${API}/records/${ID}/draft`,
        self_html: `${BASE}/uploads/${ID}`,
        self_iiif_manifest: `${API}/iiif/draft:${ID}/manifest`,
        self_iiif_sequence: `${API}/iiif/draft:${ID}/sequence/default`,
        files: `${API}/records/${ID}/draft/files`,
        archive: `${API}/records/${ID}/draft/files-archive`,
        record: `${API}/records/${ID}`,
        record_html: `${BASE}/records/${ID}`,
        publish: `${API}/records/${ID}/draft/actions/publish`,
        review: `${API}/records/${ID}/draft/review`,
        latest: `${API}/records/${ID}/versions/latest`,
        latest_html: `${BASE}/records/${ID}/latest`,
        ...COMMON('records'),
      },
    },
    {
      name: 'a published resource links to its draft',
      kind: 'record',
      form: 'published',
      links: {
        self: `${API}/records/${ID}`,
        self_html: `${BASE}/records/${ID}`,
        self_iiif_manifest: `${API}/iiif/record:${ID}/manifest`,
        self_iiif_sequence: `${API}/iiif/record:${ID}/sequence/default`,
        files: `${API}/records/${ID}/files`,
        archive: `${API}/records/${ID}/files-archive`,
        latest: `${API}/records/${ID}/versions/latest`,
        latest_html: `${BASE}/records/${ID}/latest`,
        draft: `${API}/records/${ID}/draft`,
        ...COMMON('records'),
      },
    },
    {
      name: 'a draft package links to its resources and its context',
      kind: 'package',
      form: 'draft',
      links: {
        self: `${API}/packages/${ID}/draft`,
        self_html: `${BASE}/uploads/packages/${ID}`,
        self_iiif_manifest: `${API}/iiif/package-draft:${ID}/manifest`,
        self_iiif_sequence: `${API}/iiif/package-draft:${ID}/sequence/default`,
        files: `${API}/packages/${ID}/draft/files`,
        archive: `${API}/packages/${ID}/draft/files-archive`,
        files_import: `${API}/packages/${ID}/draft/actions/files-import`,
        record: `${API}/packages/${ID}`,
        record_html: `${BASE}/packages/${ID}`,
        publish: `${API}/packages/${ID}/draft/actions/publish`,
        review: `${API}/packages/${ID}/draft/review`,
        ...COMMON('packages'),
        ...CONTEXT,
        resources: `${API}/packages/${ID}/draft/resources`,
        resources_import: `${API}/packages/${ID}/draft/actions/resources-import`,
      },
    },
    {
      name: 'a published package links to the resources it was published with',
      kind: 'package',
      form: 'published',
      links: {
        self: `${API}/packages/${ID}`,
        self_html: `${BASE}/packages/${ID}`,
        self_iiif_manifest: `${API}/iiif/package:${ID}/manifest`,
        self_iiif_sequence: `${API}/iiif/package:${ID}/sequence/default`,
        files: `${API}/packages/${ID}/files`,
        archive: `${API}/packages/${ID}/files-archive`,
        latest: `${API}/packages/${ID}/versions/latest`,
        latest_html: `${BASE}/packages/${ID}/latest`,
        draft: `${API}/packages/${ID}/draft`,
        ...COMMON('packages'),
        ...CONTEXT,
        resources: `${API}/packages/${ID}/resources`,
        requests: `${API}/packages/${ID}/requests`,
      },
    },
  ])('$name', ({ kind, form, links }) => {
    const rendered = entityLinks({ kind, form, id: ID, parentId: PARENT, doi: '' }, BASE);
    expect(Object.entries(rendered)).toEqual(Object.entries(links));
  });

  test('links that the reader cannot use are left out', () => {
    const names = (options: Parameters<typeof entityLinks>[2]) =>
      Object.keys(
        entityLinks({ kind: 'record', form: 'published', id: ID, parentId: PARENT, doi: '' }, BASE, options),
      );
    expect(names({ isAnonymous: true, mayReadFiles: false })).toEqual([
      'self',
      'self_html',
      'latest',
      'latest_html',
      'versions',
    ]);
    expect(names({ hasFiles: false })).toEqual(names({}).filter((name) => name !== 'archive'));
  });

  test('a reserved DOI is linked by its resolver, after the page', () => {
    const links = entityLinks(
      { kind: 'record', form: 'draft', id: ID, parentId: PARENT, doi: `10.5072/${ID}` },
      BASE,
    );
    expect(Object.entries(links).slice(1, 4)).toEqual([
      ['self_html', `${BASE}/uploads/${ID}`],
      ['doi', `https://doi.org/10.5072/${ID}`],
      ['self_iiif_manifest', `${API}/iiif/draft:${ID}/manifest`],
    ]);
  });

  test('a registered DOI is linked here too, odd characters escaped', () => {
    const links = entityLinks(
      { kind: 'package', form: 'published', id: ID, parentId: PARENT, doi: '10.1000/a<b>#c?d/e' },
      BASE,
    );
    expect([links['self_doi'], links['doi']]).toEqual([
      `${BASE}/doi/10.1000/a%3Cb%3E%23c%3Fd/e`,
      'https://doi.org/10.1000/a%3Cb%3E%23c%3Fd/e',
    ]);
  });
});

describe('links of files', () => {
  test('a file of a draft can be committed, and its name is escaped', () => {
    const self = `${API}/records/${ID}/draft/files/a%C3%A7%C3%A3o%20%231%3F.txt`;
    expect(fileLinks({ kind: 'record', form: 'draft', id: ID }, 'ação #1?.txt', BASE)).toEqual({
      self,
      content: `${self}/content`,
      commit: `${self}/commit`,
      tus: `${self}/tus`,
    });
  });

  test('a published image has its image services', () => {
    const self = `${API}/packages/${ID}/files/map%2B1.PNG`;
    const image = `${API}/iiif/package:${ID}:map%2B1.PNG`;
    expect(fileLinks({ kind: 'package', form: 'published', id: ID }, 'map+1.PNG', BASE)).toEqual({
      self,
      content: `${self}/content`,
      iiif_canvas: `${API}/iiif/package:${ID}/canvas/map%2B1.PNG`,
      iiif_base: image,
      iiif_info: `${image}/info.json`,
      iiif_api: `${image}/full/full/0/default.png`,
    });
  });

  test('a listing leads to all its files as one', () => {
    expect(fileListLinks('record', 'published', ID, BASE)).toEqual({
      self: `${API}/records/${ID}/files`,
      archive: `${API}/records/${ID}/files-archive`,
    });
    expect(fileListLinks('package', 'draft', ID, BASE)).toEqual({
      self: `${API}/packages/${ID}/draft/files`,
      archive: `${API}/packages/${ID}/draft/files-archive`,
    });
  });
});
