import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNatsServer, spawnAttached } from '@kr/local-stack/backends';
import { openPostgres } from '../postgres.ts';
import { newRunFolder, TOOLCHAIN_DIR } from '../run-folder.ts';
import { KEEPER_LOG, keeperVariable } from './keeper.ts';

const KEEP_ELASTICSEARCH = fileURLToPath(new URL('../elasticsearch/keep-elasticsearch.ts', import.meta.url));
const KEEP_SYSTEMS = fileURLToPath(new URL('../shared-system/keep-shared-systems.ts', import.meta.url));
const PREPARE_S3 = fileURLToPath(new URL('../s3/prepare-s3-server.ts', import.meta.url));

/** Jest's workers inherit the environment variables set here. */
export default async function startBackends(globalConfig) {
  // In a new checkout it has to be fetched: once, and not while a test waits for its system.
  if (!process.env.TEST_NATS_URL) await findNatsServer(TOOLCHAIN_DIR).catch(() => undefined);
  const postgres = await openPostgres(process.env.TEST_DATABASE_URL);
  process.env.TEST_DATABASE_URL = postgres.url;
  globalThis.stopTestPostgres = postgres.stop;
  globalThis.testKeepers = {
    elasticsearch: await startKeeper('elasticsearch', KEEP_ELASTICSEARCH),
    system: await startKeeper('system', KEEP_SYSTEMS),
  };
  if (isWholeRun(globalConfig)) globalThis.preparedS3 ??= prepareS3();
}

async function startKeeper(server, program) {
  const folder = await newRunFolder(`kept-${server}`);
  const child = spawnAttached({
    command: process.execPath,
    args: ['--no-warnings', program, folder],
    logFile: join(folder, KEEPER_LOG),
    stopSignal: 'SIGTERM',
  });
  child.on('error', (error) => process.stderr.write(`no keeper of ${server}: ${error.message}\n`));
  child.unref();
  process.env[keeperVariable(server)] = JSON.stringify({ folder, pid: child.pid });
  return { folder, child };
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
