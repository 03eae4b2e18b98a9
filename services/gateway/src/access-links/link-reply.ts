import type { AccessLink__Output } from '@kr/contracts';
import { accessLinkJson } from '../rendering/access-link-json.ts';
import type { Json } from '../rendering/entity-json.ts';

/** The document of the one link that a call was about. */
export function linkReply(link: AccessLink__Output | null): Json {
  if (link === null) throw new Error('the access links service answered without the link it promised');
  return accessLinkJson(link);
}
