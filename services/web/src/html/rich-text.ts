import MarkdownIt from 'markdown-it';
import sanitizeHtml from 'sanitize-html';
import { type Html, trusted } from './html.ts';

const ALLOWED: sanitizeHtml.IOptions = {
  allowedTags: [
    ...['p', 'br', 'div', 'span', 'strong', 'b', 'em', 'i', 'u', 's', 'sub', 'sup', 'small', 'code', 'pre'],
    ...['blockquote', 'ul', 'ol', 'li', 'dl', 'dt', 'dd', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'a'],
    ...['table', 'caption', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  allowedAttributes: { a: ['href'], th: ['scope'] },
  allowedSchemes: ['http', 'https', 'mailto'],
  // Headings below the heading of the section that contains the text.
  transformTags: {
    h1: 'h3',
    h2: 'h3',
    a: sanitizeHtml.simpleTransform('a', { rel: 'nofollow noopener' }),
  },
};

/** Markup of a depositor, reduced to structure and links. */
export function depositedHtml(markup: string): Html {
  return trusted(
    sanitizeHtml(markup, {
      ...ALLOWED,
      allowedAttributes: { ...ALLOWED.allowedAttributes, a: ['href', 'rel'] },
    }),
  );
}

const markdown = new MarkdownIt({ html: false, linkify: true });
// Images would be requests to other hosts.
markdown.disable('image');

/** CommonMark without raw HTML and images. */
export function renderMarkdown(text: string): Html {
  return depositedHtml(markdown.render(text));
}
