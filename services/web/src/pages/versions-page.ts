import { COLLECTION, type Kind, titleOf } from '@kr/formats';
import { html } from '../html/html.ts';
import { link, type Page, type PageContext } from '../html/layout.ts';
import { hitList } from '../parts/hit.ts';
import { pageLinks, pageNumber } from '../parts/page-links.ts';

const SIZE = 100;

/** GET /{kind}/{id}/versions: every version of an entity that the reader may see, and what its context holds. */
export async function versionsPage(kind: Kind, id: string, context: PageContext): Promise<Page> {
  const { texts, repository } = context;
  const [entity, versions] = await Promise.all([
    repository.entity(kind, id),
    repository.versions(kind, id, { size: SIZE, page: pageNumber(context) }),
  ]);
  const title = titleOf(entity);
  return {
    title: texts.versionsPage.title(title),
    isIndexed: false,
    main: html`<p><a href="${link(`/${COLLECTION[kind]}/${id}`, context)}">${texts.previews.back}</a></p>
<h1>${texts.versionsPage.title(title)}</h1>
<p>${texts.versionsPage.description}</p>
${hitList(versions.hits.hits, context, 2)}
${pageLinks(versions.hits.total, SIZE, context)}`,
  };
}
