import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { stopProcess } from '@kr/local-stack/backends';
import { stopElasticsearch } from '../elasticsearch/stop-elasticsearch.ts';
import { logOf } from './keeper.ts';

const SYSTEMS_STOP_MS = 120_000;

export default async function stopBackends() {
  globalThis.preparedS3?.kill('SIGTERM');
  const { elasticsearch, system } = globalThis.testKeepers;
  const failure = await stopSystems(system);
  await stopElasticsearch(elasticsearch.folder);
  await stopProcess(elasticsearch.child, 'SIGTERM', 0);
  for (const { folder } of [elasticsearch, system]) await rm(folder, { recursive: true, force: true });
  await globalThis.stopTestPostgres?.();
  if (failure !== undefined) throw failure;
  // For `test/main.ts`: the clean-up did not fail.
  if (process.env.TEST_OUTCOME_FILE !== undefined)
    writeFileSync(`${process.env.TEST_OUTCOME_FILE}.cleared`, '');
}

/** @returns an error if a shared system has failed */
async function stopSystems({ child, folder }) {
  await stopProcess(child, 'SIGTERM', SYSTEMS_STOP_MS);
  // A keeper that was not needed ends by the signal.
  if (child.exitCode === 0 || child.signalCode === 'SIGTERM') return undefined;
  return new Error(`a shared system failed: ${await logOf(folder)}`);
}
