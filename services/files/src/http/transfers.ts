import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { counter, durations, observeGauges } from '@kr/telemetry';

/** Clients send bytes, or are sent some. */
type Direction = 'upload' | 'download';

const METER = 'files';
const DIRECTIONS: readonly Direction[] = ['upload', 'download'];
const UPLOADS = new Set(['PUT', 'POST', 'PATCH']);

export interface TransferObservations {
  /** Counts and times one request about bytes until its end. */
  begin(request: IncomingMessage, response: ServerResponse): void;
  stop(): void;
}

/** The bytes on the wire of a connection, headers included. */
export function observeTransfers(): TransferObservations {
  const bytes = counter(
    METER,
    { name: 'file_transfer_bytes', description: 'Bytes of requests or answers about files.', unit: 'By' },
    DIRECTIONS.map((direction) => ({ direction })),
  );
  const record = durations(METER, {
    name: 'file_transfer_seconds',
    description: 'Uploads and downloads by outcome: done, refused, failed, or aborted by the client.',
    of: 'transfers',
  });
  const active: Record<Direction, number> = { upload: 0, download: 0 };
  const gauges = observeGauges({
    meter: METER,
    gauges: {
      active: { name: 'file_transfers_active', description: 'Running uploads and downloads.' },
    },
    read: () =>
      DIRECTIONS.map((direction) => ({
        of: 'active' as const,
        value: active[direction],
        attributes: { direction },
      })),
  });
  /** The counts of a connection, which carries several requests. */
  const counted = new WeakMap<Socket, Record<Direction, number>>();

  return {
    stop: gauges.stop,
    begin(request, response) {
      const { socket } = request;
      const direction: Direction = UPLOADS.has(request.method ?? '') ? 'upload' : 'download';
      const started = performance.now();
      active[direction] += 1;
      response.once('close', () => {
        active[direction] -= 1;
        const before = counted.get(socket) ?? { upload: 0, download: 0 };
        const now = { upload: socket.bytesRead, download: socket.bytesWritten };
        counted.set(socket, now);
        bytes({ direction }, Math.max(0, now[direction] - before[direction]));
        record((performance.now() - started) / 1_000, { direction, outcome: outcomeOf(response) });
      });
    },
  };
}

function outcomeOf({ writableFinished, statusCode }: ServerResponse): string {
  if (!writableFinished) return 'aborted';
  if (statusCode >= 500) return 'failed';
  return statusCode >= 400 ? 'refused' : 'done';
}
