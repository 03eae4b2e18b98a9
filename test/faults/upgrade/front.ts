import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** One address for the processes of a service, as in a cluster: connections go to a ready one. */
export interface Front {
  port: number;
  /** Ports of the ready processes; each new connection goes to the next of them. */
  lead(ports: readonly number[]): void;
  close(): Promise<void>;
}

export async function openFront(): Promise<Front> {
  let targets: readonly number[] = [];
  let turn = 0;
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (near) => {
    turn += 1;
    const target = targets[turn % targets.length];
    if (target === undefined) return void near.destroy();
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.setNoDelay(true);
      one.pipe(other);
      // The other side sees the end of the connection as it was.
      one.once('error', () => other.destroy());
      one.once('close', () => open.delete(one));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    lead: (ports) => {
      targets = ports;
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
