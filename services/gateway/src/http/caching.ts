import type { ServerResponse } from 'node:http';

/** What a credential opened is nobody else's; what a link opened is not even to be kept. */
export function setCaching(
  response: ServerResponse,
  { hasUser, hasLink }: { hasUser: boolean; hasLink: boolean },
): void {
  if (hasLink) response.setHeader('cache-control', 'private, no-store');
  else if (hasUser) response.setHeader('cache-control', 'private, no-cache');
  else response.setHeader('cache-control', 'no-cache');
}
