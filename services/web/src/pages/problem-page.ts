import type { ErrorBody } from '@kr/formats';
import { readableDate } from '../html/dates.ts';
import { html } from '../html/html.ts';
import { link, type Page, type PageContext } from '../html/layout.ts';

/** A page for an error answer of the API: not found, restricted, removed (with its tombstone), … */
export function problemPage(body: ErrorBody, context: PageContext): Page {
  const { texts } = context;
  const { title, text } = problemOf(body.status, texts);
  const hasEndedLink = body.code === 'access_link_expired';
  const fields = (body.errors ?? []).flatMap(({ field, messages }) =>
    (messages ?? []).map((message) => (field === undefined ? message : `${field}: ${message}`)),
  );
  return {
    status: body.status,
    title,
    main: html`<h1>${title}</h1>
<p>${hasEndedLink ? texts.problems.expiredLink : text}</p>
${fields.length > 0 && html`<ul>${fields.map((field) => html`<li>${field}</li>`)}</ul>`}
${tombstone(body, context)}
<p><a href="${link('/', context)}">${texts.problems.home}</a></p>`,
  };
}

const KNOWN = [400, 401, 403, 404, 410, 429, 503] as const;

function problemOf(status: number, { problems }: PageContext['texts']): { title: string; text: string } {
  return problems[KNOWN.find((known) => known === status) ?? 500];
}

function tombstone({ tombstone: removed }: ErrorBody, { texts }: PageContext) {
  if (removed === undefined) return undefined;
  const { removal_date: date, removal_reason: reason, note, citation_text: citation } = removed;
  const reasons: Readonly<Record<string, string>> = texts.problems.removalReasons;
  return html`<div class="notice">
${date && html`<p>${texts.problems.removedOn(readableDate(date, texts.language))}</p>`}
${reason && html`<p>${texts.problems.removalReason(reasons[reason.id] ?? reason.id)}</p>`}
${note && html`<p>${note}</p>`}
</div>
${citation && html`<p>${texts.problems.lastCitation}:</p><blockquote>${citation}</blockquote>`}`;
}
