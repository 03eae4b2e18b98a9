import { COLLECTION, type Kind } from '@kr/formats';
import { ApiError } from '../api/repository.ts';
import { html } from '../html/html.ts';
import { link, type Page, type PageContext } from '../html/layout.ts';
import { preview } from '../parts/preview.ts';

/** GET /{kind}/{id}/preview/{key} */
export async function previewPage(kind: Kind, id: string, key: string, context: PageContext): Promise<Page> {
  const { texts, repository } = context;
  const entity = await repository.entity(kind, id);
  const { entries = [] } = await repository.files(entity, kind);
  const entry = entries.find((one) => one.key === key);
  if (entry === undefined) throw new ApiError(404, { status: 404, message: texts.problems[404].text });
  const { pathname } = new URL(entry.links.content);
  return {
    title: texts.previews.title(key),
    isIndexed: false,
    main: html`<p><a href="${link(`/${COLLECTION[kind]}/${id}`, context)}">${texts.previews.back}</a></p>
<h1>${key}</h1>
<p class="actions"><a class="button" href="${link(pathname, context)}">${texts.entity.download} (${texts.size(entry.size)})</a></p>
${await preview(entry, context)}`,
  };
}
