import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnAttached } from '@kr/local-stack/backends';
import { KEEPER_LOG } from '../elasticsearch/open-elasticsearch.ts';
import { openPostgres } from '../postgres.ts';
import { newRunFolder } from '../run-folder.ts';

const KEEP_ELASTICSEARCH = fileURLToPath(new URL('../elasticsearch/keep-elasticsearch.ts', import.meta.url));
const PREPARE_S3 = fileURLToPath(new URL('../s3/prepare-s3-server.ts', import.meta.url));

/** Jest's workers inherit the environment variables set here. */
export default async function startBackends(globalConfig) {
  const postgres = await openPostgres(process.env.TEST_DATABASE_URL);
  process.env.TEST_DATABASE_URL = postgres.url;
  globalThis.stopTestPostgres = postgres.stop;
  process.env.TEST_ELASTICSEARCH_FOLDER = await newRunFolder('elasticsearch');
  globalThis.elasticsearchKeeper = keepElasticsearch(process.env.TEST_ELASTICSEARCH_FOLDER);
  process.env.TEST_ELASTICSEARCH_KEEPER = String(globalThis.elasticsearchKeeper.pid);
  if (isWholeRun(globalConfig)) globalThis.preparedS3 ??= prepareS3();
}

/** One server for all tests, started when the first of them needs it. */
function keepElasticsearch(folder) {
  const child = spawnAttached({
    command: process.execPath,
    args: ['--no-warnings', KEEP_ELASTICSEARCH, folder],
    logFile: join(folder, KEEPER_LOG),
    stopSignal: 'SIGTERM',
  });
  child.on('error', (error) => process.stderr.write(`no Elasticsearch can be kept: ${error.message}\n`));
  child.unref();
  return child;
}

/** A run of some tests rarely needs the S3 server, whose build takes minutes. */
function isWholeRun({ nonFlagArgs = [], testNamePattern = '' }) {
  return nonFlagArgs.length === 0 && testNamePattern === '';
}

function prepareS3() {
  const child = spawn(process.execPath, ['--no-warnings', PREPARE_S3], { stdio: 'ignore' });
  child.on('error', (error) => process.stderr.write(`the S3 server is not prepared: ${error.message}\n`));
  child.unref();
  return child;
}
