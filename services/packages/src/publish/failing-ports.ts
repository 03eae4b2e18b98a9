import { around, failpoint } from '@kr/failpoint';
import type { Publication } from './publication.ts';
import type { Decisions } from './publication-store.ts';
import type { PublishDeps } from './publish.ts';
import type { Participants, PublicationLog } from './publish-ports.ts';

type Begin = PublishDeps['begin'];

/** The begin of a publication, of either subject, with a failpoint before and after it. */
export function failingBegin(begin: Begin): Begin {
  const either = around(
    'publish.begin',
    (subject: Publication['subject'], ...given: Parameters<Begin['package']>) => begin[subject](...given),
  );
  return {
    package: (...given) => either('package', ...given),
    record: (...given) => either('record', ...given),
  };
}

/** The log with a failpoint before and after every step that writes. */
export function failingLog(log: PublicationLog): PublicationLog {
  return {
    ...log,
    check: around('publish.check', log.check),
    renew: around('publish.renew', log.renew),
    commit: around('publish.commit', log.commit),
    abort: around('publish.abort', log.abort),
    finish: around('publish.finish', log.finish),
    postpone: around('publish.postpone', log.postpone),
  };
}

/** The participants with a failpoint before each call and after its answer. */
export function failingParticipants({ seal, prepare, tell }: Participants): Participants {
  const tells = {
    files: around('publish.tell-files', tell),
    records: around('publish.tell-records', tell),
  };
  return {
    seal: around('publish.seal', seal),
    prepare: around('publish.prepare', prepare),
    tell: (participant, publication) => tells[participant](participant, publication),
  };
}

/** The decisions with a failpoint before they are looked up for somebody and after, and when one was taken over. */
export function failingDecisions(decisions: Decisions): Decisions {
  return {
    ...decisions,
    settleOverdue: around('publish.resolve', decisions.settleOverdue),
    async claim(limit, now) {
      const claimed = await decisions.claim(limit, now);
      if (claimed.length > 0) await failpoint('publish.claim.after');
      return claimed;
    },
  };
}
