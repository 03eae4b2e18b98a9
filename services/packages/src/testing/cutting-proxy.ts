import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A way to the database on which the connection of the next COMMIT breaks. */
export interface CuttingProxy {
  readonly url: URL;
  /** Breaks it before the server hears of the COMMIT, or after the server has carried it out. */
  cutAt: 'nothing' | 'before commit' | 'after commit';
  /** How many connections were broken. */
  readonly cuts: number;
  stop(): Promise<void>;
}

export async function startCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const proxy = { cutAt: 'nothing' as CuttingProxy['cutAt'], cuts: 0 };

  const server: Server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    let isCut = false;
    const cut = () => {
      isCut = true;
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    let isAwaiting = false;
    client.on('data', (bytes) => {
      const isCommit = proxy.cutAt !== 'nothing' && bytes.includes('COMMIT');
      if (isCommit && proxy.cutAt === 'before commit') {
        proxy.cuts += 1;
        proxy.cutAt = 'nothing';
        return cut();
      }
      if (isCommit) {
        isAwaiting = true;
        proxy.cutAt = 'nothing';
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (isAwaiting) {
        proxy.cuts += 1;
        return cut();
      }
      if (!isCut) client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    get cutAt() {
      return proxy.cutAt;
    },
    set cutAt(at) {
      proxy.cutAt = at;
    },
    get cuts() {
      return proxy.cuts;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
