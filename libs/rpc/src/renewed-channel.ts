import type { Client as GrpcClient } from '@grpc/grpc-js';

/** A channel for one call. */
export interface BorrowedChannel {
  channel: GrpcClient;
  /** Call it when the call has ended. */
  giveBack(): void;
}

export interface RenewedChannel {
  borrow(): BorrowedChannel;
  /** Closes the connections when running calls have ended. */
  close(): void;
}

/** Timeout of connecting a new channel in milliseconds; the former one is used meanwhile. */
const READY_MS = 5_000;

interface Generation {
  readonly channel: GrpcClient;
  /** Creation, or the last failed attempt to replace it. */
  bornAt: number;
  running: number;
  isFormer: boolean;
}

/**
 * Opens a new channel every `ageMs` in which there are calls, so that the name is resolved again and added processes are
 * called. If the callee closed connections for that, calls in transit would be lost; the caller knows when its last call has
 * ended. Connections that both channels use stay open.
 */
export function renewedChannel(open: () => GrpcClient, ageMs: number): RenewedChannel {
  let current = generation(open());
  let next: GrpcClient | undefined;

  const renew = (): void => {
    const opened = open();
    next = opened;
    opened.waitForReady(Date.now() + READY_MS, (failure) => {
      if (next !== opened) return;
      next = undefined;
      if (failure !== undefined) {
        opened.close();
        current.bornAt = performance.now();
        return;
      }
      const former = current;
      current = generation(opened);
      former.isFormer = true;
      if (former.running === 0) former.channel.close();
    });
  };

  return {
    borrow() {
      if (next === undefined && performance.now() - current.bornAt >= ageMs) renew();
      const borrowed = current;
      borrowed.running += 1;
      return {
        channel: borrowed.channel,
        giveBack() {
          borrowed.running -= 1;
          if (borrowed.isFormer && borrowed.running === 0) borrowed.channel.close();
        },
      };
    },
    close() {
      const opened = next;
      next = undefined;
      opened?.close();
      current.channel.close();
    },
  };
}

function generation(channel: GrpcClient): Generation {
  return { channel, bornAt: performance.now(), running: 0, isFormer: false };
}
