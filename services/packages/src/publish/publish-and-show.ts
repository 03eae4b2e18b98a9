import type { Definitions } from '@kr/contracts';
import type { Handlers } from '@kr/rpc';
import { subjectOf } from './publish.ts';

type Publish = Handlers<Definitions['publications']>['Publish'];
type ReadEntities = Handlers<Definitions['lifecycle']>['ReadEntities'];

/** RPC Publish with the published package in its response, which saves its caller a request. */
export function publishAndShow(publish: Publish, readEntities: ReadEntities): Publish {
  return async (request, call) => {
    const answer = await publish(request, call);
    if (subjectOf(request.subject) !== 'package') return answer;
    const ref = { id: request.id, form: 'FORM_PUBLISHED' } as const;
    const { results } = await readEntities({ refs: [ref] }, call);
    return { ...answer, published: results?.[0] ?? null };
  };
}
