import type { FileEntry, FileListing } from '@kr/formats';
import { type Html, html } from '../html/html.ts';
import { link, type PageContext } from '../html/layout.ts';
import { previewKind } from './preview-kind.ts';

/**
 * The files of an entity with sizes, checksums and downloads.
 * @param page path of the page of the entity
 * @param archive path of the ZIP with all files
 */
export function fileTable(
  listing: FileListing,
  { page, archive }: { page: string; archive: string },
  context: PageContext,
): Html {
  const { texts } = context;
  const entries = ordered(listing).filter(({ status }) => status === 'completed');
  if (entries.length === 0) return html`<p>${texts.entity.noFiles}</p>`;
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  return html`<table class="files">
<caption>${texts.entity.fileCount(entries.length, texts.size(bytes))}</caption>
<thead><tr><th scope="col">${texts.entity.fileName}</th><th scope="col">${texts.entity.fileSize}</th><th scope="col">${texts.entity.fileChecksum}</th></tr></thead>
<tbody>${entries.map((entry) => row(entry, page, context))}</tbody>
</table>
<p class="actions"><a class="button" href="${link(archive, context)}">${texts.entity.downloadAll}</a></p>`;
}

function row(entry: FileEntry, page: string, context: PageContext): Html {
  const { texts } = context;
  const { pathname } = new URL(entry.links.content);
  const preview = `${page}/preview/${encodeURIComponent(entry.key)}`;
  return html`<tr>
<th scope="row">${entry.key}
<p><a href="${link(pathname, context)}" aria-label="${texts.entity.downloadOf(entry.key)}">${texts.entity.download}</a>
${previewKind(entry) && html`<a href="${link(preview, context)}" aria-label="${texts.previews.title(entry.key)}">${texts.entity.preview}</a>`}</p></th>
<td class="number">${texts.size(entry.size)}</td>
<td><code class="checksum">${entry.checksum}</code></td>
</tr>`;
}

/** The entries in the order that the depositor chose, then the others by name. */
function ordered({ entries = [], order = [] }: FileListing): FileEntry[] {
  const places = new Map(order.map((key, index) => [key, index]));
  const placeOf = (key: string): number => places.get(key) ?? order.length;
  return [...entries].sort((a, b) => placeOf(a.key) - placeOf(b.key) || (a.key < b.key ? -1 : 1));
}
