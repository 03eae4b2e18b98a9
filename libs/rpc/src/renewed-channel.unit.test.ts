import type { Client as GrpcClient } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { renewedChannel } from './renewed-channel.ts';

/** Channels that become ready under control of the test. */
function openedChannels() {
  const opened: { isClosed: boolean; finish(failure?: Error): void }[] = [];
  const open = (): GrpcClient => {
    const state = { isClosed: false, finish: (_failure?: Error): void => undefined };
    opened.push(state);
    const channel: Pick<GrpcClient, 'close' | 'waitForReady'> = {
      close: () => {
        state.isClosed = true;
      },
      waitForReady: (_deadline, notified) => {
        state.finish = notified;
      },
    };
    return channel as GrpcClient;
  };
  return { opened, open };
}

test('a channel whose renewal failed once is closed with its last call, after the renewal that succeeds', () => {
  const { opened, open } = openedChannels();
  const channels = renewedChannel(open, 0);
  const long = channels.borrow();
  opened[1]?.finish(new Error('not ready in time'));
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([false, true]);

  const short = channels.borrow();
  opened[2]?.finish();
  short.giveBack();
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([false, true, false]);
  long.giveBack();
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, true, false]);
});
