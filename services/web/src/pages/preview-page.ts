import { COLLECTION, type FileEntry, type Kind } from '@kr/formats';
import { ApiError } from '../api/repository.ts';
import { html } from '../html/html.ts';
import { link, type Page, type PageContext } from '../html/layout.ts';
import { MAX_PDF_BYTES, preview } from '../parts/preview.ts';
import { previewKind } from '../parts/preview-kind.ts';

/** A file of an entity. @throws ApiError 404: there is no such file */
async function findFile(
  kind: Kind,
  id: string,
  key: string,
  { repository, texts }: PageContext,
): Promise<FileEntry> {
  const entity = await repository.entity(kind, id);
  const { entries = [] } = await repository.files(entity, kind);
  const entry = entries.find((one) => one.key === key);
  if (entry === undefined) throw new ApiError(404, { status: 404, message: texts.problems[404].text });
  return entry;
}

/** GET /{kind}/{id}/preview/{key}/document: the bytes of a PDF, which a browser shows inside the page. */
export async function pdfDocument(
  kind: Kind,
  id: string,
  key: string,
  context: PageContext,
): Promise<Buffer> {
  const entry = await findFile(kind, id, key, context);
  if (previewKind(entry) !== 'pdf' || entry.size > MAX_PDF_BYTES) {
    throw new ApiError(404, { status: 404, message: context.texts.problems[404].text });
  }
  const { bytes } = await context.repository.contentStart(
    new URL(entry.links.content).pathname,
    MAX_PDF_BYTES,
  );
  return bytes;
}

/** GET /{kind}/{id}/preview/{key} */
export async function previewPage(kind: Kind, id: string, key: string, context: PageContext): Promise<Page> {
  const { texts } = context;
  const entry = await findFile(kind, id, key, context);
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
