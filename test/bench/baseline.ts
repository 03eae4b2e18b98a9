import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The bare Express server in its own process. */
export interface Baseline {
  url: string;
  pid: number;
  answerWith(payload: unknown): Promise<void>;
  stop(): void;
}

export async function startBaseline(): Promise<Baseline> {
  const child = fork(fileURLToPath(new URL('./baseline-server.ts', import.meta.url)));
  const [port] = (await once(child, 'message')) as [number];
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    pid: child.pid ?? 0,
    async answerWith(payload) {
      await fetch(`${url}/payload`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(payload),
      });
    },
    stop: () => child.kill(),
  };
}
