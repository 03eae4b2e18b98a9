import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startNats as startLocalNats } from '@kr/local-stack/backends';
import { newRunFolder, TOOLCHAIN_DIR } from './run-folder.ts';

export interface TestNats {
  url: string;
  stop(): Promise<void>;
}

/**
 * A real NATS server with empty streams: the one that `TEST_NATS_URL` names (then the streams are what they are), else a
 * local program, else a container.
 */
export async function startNats(): Promise<TestNats> {
  const given = process.env['TEST_NATS_URL'];
  if (given !== undefined && given !== '') return { url: given, stop: () => Promise.resolve() };
  try {
    return await startProgram();
  } catch (cause) {
    const container = await import('./container.ts');
    if (await container.hasContainerRuntime()) return container.startNatsContainer();
    throw new Error(`No NATS for the tests; TEST_NATS_URL may name one. ${String(cause)}`, { cause });
  }
}

async function startProgram(): Promise<TestNats> {
  const folder = await newRunFolder('nats');
  const running = await startLocalNats({
    dataDir: join(folder, 'data'),
    logFile: join(folder, 'nats.log'),
    toolchainDir: TOOLCHAIN_DIR,
    durability: 'fast',
  });
  return {
    url: running.url,
    stop: async () => {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
