import { describe, expect, test } from '@jest/globals';
import type { Entity, Hits } from '@kr/formats';
import type { ListPart, Repository } from '../api/repository.ts';
import type { Page, PageContext } from '../html/layout.ts';
import { textsIn } from '../html/texts.ts';
import { entityPage } from './entity-page.ts';
import { versionsPage } from './versions-page.ts';

const ENTITY: Entity = {
  id: 'abcde-00001',
  created: '2026-05-01T00:00:00Z',
  updated: '2026-05-01T00:00:00Z',
  links: { self: 'http://h/api/packages/abcde-00001', self_html: 'http://h/packages/abcde-00001' },
  revision_id: 1,
  parent: { id: 'abcde-00000', type: 'package' },
  versions: { index: 1, is_latest: true },
  is_published: true,
  is_draft: false,
  metadata: { title: 'Floods' },
  access: { record: 'public', files: 'public', status: 'open' },
  files: { enabled: false },
};

const requested: ListPart[] = [];
const listOf =
  (total: number) =>
  async (part: ListPart): Promise<Hits> => {
    requested.push(part);
    return { hits: { hits: [ENTITY], total }, aggregations: {}, links: {} };
  };

/** @param total entries of each list; a request beside those of the lists fails the test */
function contextOf(path: string, total: number): PageContext {
  const list = listOf(total);
  const repository: Partial<Repository> = {
    entity: async () => ENTITY,
    versions: (_kind, _id, part) => list(part),
    resources: (_entity, part) => list(part),
  };
  return {
    reader: { baseUrl: 'http://h', token: undefined, forwarded: {}, signal: AbortSignal.abort() },
    repository: repository as Repository,
    texts: textsIn('en'),
    siteName: 'Rivers',
    asset: (name) => `/static/${name}`,
    path,
    query: new URL(path, 'http://h').searchParams,
  };
}

const PAGES: readonly (readonly [string, number, string, (context: PageContext) => Promise<Page>])[] = [
  ['versions', 100, '/packages/a/versions', (context) => versionsPage('package', 'a', context)],
  ['the resources of a package', 50, '/packages/a', (context) => entityPage('package', ENTITY, context)],
];

describe.each(PAGES)('the list of %s, %i on a page', (_, size, path, render) => {
  const linksOf = async (query: string, total: number) => {
    requested.length = 0;
    const { main } = await render(contextOf(`${path}${query}`, total));
    return [...main.text.matchAll(/rel="(prev|next)" href="([^"]+)"/g)].map(([, rel, href]) => [rel, href]);
  };

  test('leads to the next and the previous page', async () => {
    const total = 2 * size + 1;
    expect(await linksOf('', total)).toEqual([['next', `${path}?page=2`]]);
    expect(await linksOf('?page=2', total)).toEqual([
      ['prev', `${path}?page=1`],
      ['next', `${path}?page=3`],
    ]);
    expect(requested).toEqual([{ size, page: 2 }]);
    expect(await linksOf('?page=3', total)).toEqual([['prev', `${path}?page=2`]]);
  });

  test('has no such links if it fits on one page, and reads a wrong page number as the first', async () => {
    expect(await linksOf('?page=-1', size)).toEqual([]);
    expect(requested).toEqual([{ size, page: 1 }]);
  });
});
