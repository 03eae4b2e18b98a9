import { type Call, param, type StreamReply } from '../http/endpoint.ts';
import { authoriseEnabledFiles, type FilesDeps, reauthoriseFiles } from './authorise-files.ts';
import type { ContentPlane, ContentRequest } from './content-plane.ts';
import { contentRefusal } from './content-refusal.ts';
import type { HandOver } from './hand-over.ts';

/** What chooses a part of the bytes, or none when they are known already. */
const CONDITIONS = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
] as const;

/** Bytes of an entity's files for who may read these, passed on as they come: every way to them leads through here. */
export async function download(
  deps: FilesDeps,
  plane: ContentPlane,
  call: Call,
  wanted: Pick<ContentRequest, 'face' | 'key'> & { handOver?: HandOver },
): Promise<StreamReply> {
  const { handOver, ...asked } = wanted;
  const { ticket } = await authoriseEnabledFiles(deps, 'read', call);
  const headers: Record<string, string> = { ...handOver?.offered(call) };
  for (const name of CONDITIONS) {
    const value = call.headers[name];
    if (value !== undefined) headers[name] = String(value);
  }
  const answer = await plane.request({
    method: call.method === 'HEAD' ? 'HEAD' : 'GET',
    ...asked,
    entityId: param(call, 'id'),
    ticket,
    headers,
    signal: call.signal,
    recheck: () => reauthoriseFiles(deps, 'read', call),
  });
  if (answer.status >= 400) throw await contentRefusal(answer);
  const told = handOver?.headers(answer) ?? answer.headers;
  return { as: 'stream', status: answer.status, headers: told, stream: answer.body };
}
