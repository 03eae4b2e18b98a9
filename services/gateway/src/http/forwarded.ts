import type { IncomingMessage } from 'node:http';
import parseForwarded from 'forwarded-parse';

/** What one proxy says of the request as it came to it (RFC 7239). */
export type ForwardedElement = Readonly<Record<string, string | undefined>>;

/**
 * What the `Forwarded` header says, the nearest to the client first; nothing if it is malformed. Undefined: there is
 * none, so that older headers may say it.
 */
export function forwardedElements({
  headers,
}: Pick<IncomingMessage, 'headers'>): ForwardedElement[] | undefined {
  const { forwarded } = headers;
  if (forwarded === undefined) return undefined;
  try {
    return parseForwarded(String(forwarded));
  } catch {
    return [];
  }
}
