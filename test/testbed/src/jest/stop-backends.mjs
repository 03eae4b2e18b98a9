import { writeFileSync } from 'node:fs';
import { stopElasticsearch } from '../elasticsearch/stop-elasticsearch.ts';

export default async function stopBackends() {
  globalThis.preparedS3?.kill('SIGTERM');
  const folder = process.env.TEST_ELASTICSEARCH_FOLDER;
  if (folder !== undefined) await stopElasticsearch(folder);
  globalThis.elasticsearchKeeper?.kill('SIGTERM');
  await globalThis.stopTestPostgres?.();
  // For `test/main.ts`: the clean-up did not fail.
  if (process.env.TEST_OUTCOME_FILE !== undefined)
    writeFileSync(`${process.env.TEST_OUTCOME_FILE}.cleared`, '');
}
