import type { Client as GrpcClient } from '@grpc/grpc-js';

/** A channel for one call. */
export interface BorrowedChannel {
  channel: GrpcClient;
  /** Must be called once the call is over. */
  giveBack(): void;
}

export interface RenewedChannel {
  borrow(): BorrowedChannel;
  /** Ends the connections once running calls are through. */
  close(): void;
}

/** How long a new channel may take to reach its peers; while it does not, the former one is used. */
const READY_MS = 5_000;

interface Generation {
  readonly channel: GrpcClient;
  /** Or of the last failed attempt to replace it. */
  bornAt: number;
  running: number;
  isFormer: boolean;
}

/**
 * Opens another channel every `ageMs` in which there are calls, so that its name is looked up again and processes that
 * were added under it are called. The callee must not end connections for that: a call that is just on its way then is
 * lost, whereas the caller knows when its last one is over. Connections that both channels need are kept.
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
