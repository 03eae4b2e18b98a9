import { afterCall, inheritedDeadlineMs } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';

const MIB = 1024 * 1024;
/** Stored bytes of a page that is loaded without waiting. */
const SMALL_PAGE_BYTES = MIB;
/** Stored bytes of the largest page. In memory a page takes some ten times as much while it is rendered. */
const MAX_PAGE_BYTES = 12 * MIB;
/** Stored bytes of all large pages that a process renders at once. */
const PROCESS_BYTES = MAX_PAGE_BYTES;

/** Limits the memory of pages of large documents. */
export interface DocumentBudget {
  /**
   * Runs a query that must return rows without documents if these exceed the `bytes` it is given. Pages of
   * large documents wait for each other until their calls are answered.
   *
   * @throws ServiceError - `invalid` (`answer_too_large`): the page exceeds the limit of any page -
   * `unavailable`: the deadline of the call passed while it waited
   */
  load<Row extends { bytes?: bigint | number | string | null }>(
    query: (bytes: number) => Promise<Row[]>,
  ): Promise<Row[]>;
}

export function documentBudget(): DocumentBudget {
  let free = PROCESS_BYTES;
  const waiting: { bytes: number; admit(): void }[] = [];

  function admitNext(): void {
    for (let next = waiting[0]; next !== undefined && next.bytes <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.bytes;
      next.admit();
    }
  }

  function acquire(bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const leftMs = inheritedDeadlineMs() - Date.now();
      const timer = Number.isFinite(leftMs) ? setTimeout(giveUp, leftMs) : undefined;
      const entry = {
        bytes,
        admit: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      function giveUp(): void {
        waiting.splice(waiting.indexOf(entry), 1);
        reject(busy());
        admitNext();
      }
      waiting.push(entry);
      admitNext();
    });
  }

  return {
    async load(query) {
      const small = await query(SMALL_PAGE_BYTES);
      const bytes = bytesOf(small);
      if (bytes <= SMALL_PAGE_BYTES) return small;
      if (bytes > MAX_PAGE_BYTES) throw tooLarge();
      await acquire(bytes);
      afterCall(() => {
        free += bytes;
        admitNext();
      });
      const large = await query(MAX_PAGE_BYTES);
      // It has grown meanwhile.
      if (bytesOf(large) > MAX_PAGE_BYTES) throw tooLarge();
      return large;
    },
  };
}

function bytesOf(rows: readonly { bytes?: bigint | number | string | null }[]): number {
  return Number(rows[0]?.bytes ?? 0);
}

function tooLarge(): ServiceError {
  return new ServiceError(
    'invalid',
    `The documents of this page are larger than ${MAX_PAGE_BYTES / MIB} MiB together. Request a smaller \`size\`.`,
    { code: 'answer_too_large' },
  );
}

function busy(): ServiceError {
  return new ServiceError('unavailable', 'Too many large documents are being read. Retry in 1 s.', {
    code: 'overloaded',
    retryAfterMs: 1_000,
  });
}
