import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { freePort, runProgram, spawnAttached, stopProcess } from '@kr/local-stack/backends';
import { newRunFolder } from '../run-folder.ts';
import { findS3Server } from './s3-server-program.ts';

export interface S3Access {
  endpoint: URL;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

export interface TestBucket {
  name: string;
  /** Of all its objects. */
  keys(): Promise<string[]>;
  drop(): Promise<void>;
}

export interface TestS3 {
  access: S3Access;
  /** An empty bucket, for one test or file alone. */
  freshBucket(): Promise<TestBucket>;
  /** Environment variables of the files service for one of the buckets. */
  environment(bucket: string): Record<string, string>;
  stop(): Promise<void>;
}

/** The reason for a missing server, for the names of skipped tests. */
export interface MissingS3 {
  missing: string;
}

/** Limit for the reason, which may be the whole output of a compiler. */
const MOST_CHARACTERS = 400;

/**
 * A real S3 server: the one that `TEST_S3_URL` names (`http://key:secret@host:port`, with `?region=` where it has
 * another than us-east-1), else a local program, which Go builds once, else a container.
 */
export async function openS3(): Promise<TestS3 | MissingS3> {
  const given = process.env['TEST_S3_URL'];
  if (given !== undefined && given !== '') return testS3(accessOf(new URL(given)), () => Promise.resolve());
  let whyNoProgram: unknown;
  const program = await findS3Server().catch((error: unknown) => {
    whyNoProgram = error;
  });
  if (program !== undefined) return startProgram(program);
  const container = await import('../container.ts');
  if (!(await container.hasContainerRuntime())) return { missing: reasonOf(whyNoProgram) };
  const access = newAccess();
  const { endpoint, stop } = await container.startS3Container(access);
  return testS3({ ...access, endpoint }, stop);
}

function reasonOf(error: unknown): string {
  const said = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ').trim();
  return `needs TEST_S3_URL, versitygw, Go or a container runtime: ${said.slice(0, MOST_CHARACTERS)}`;
}

function accessOf(url: URL): S3Access {
  return {
    endpoint: new URL(url.origin),
    region: url.searchParams.get('region') ?? 'us-east-1',
    accessKeyId: decodeURIComponent(url.username),
    secretAccessKey: decodeURIComponent(url.password),
  };
}

function newAccess(): Omit<S3Access, 'endpoint'> {
  return { region: 'us-east-1', accessKeyId: 'tester', secretAccessKey: randomBytes(20).toString('hex') };
}

async function startProgram(program: string): Promise<TestS3> {
  const folder = await newRunFolder('s3');
  const [objects, marks] = [join(folder, 'objects'), join(folder, 'marks')];
  for (const part of [objects, marks]) await mkdir(part);
  const port = await freePort();
  const access = { ...newAccess(), endpoint: new URL(`http://127.0.0.1:${port}`) };
  const logFile = join(folder, 's3.log');
  const child = await runProgram({
    name: 'S3',
    logFile,
    stopSignal: 'SIGTERM',
    launch: () =>
      spawnAttached({
        command: program,
        args: [
          '--port',
          `127.0.0.1:${port}`,
          '--health',
          '/health',
          '--quiet',
          '--keep-alive',
          'posix',
          '--sidecar',
          marks,
          objects,
        ],
        logFile,
        env: {
          PATH: process.env['PATH'],
          ROOT_ACCESS_KEY: access.accessKeyId,
          ROOT_SECRET_KEY: access.secretAccessKey,
        },
        stopSignal: 'SIGTERM',
      }),
    isReady: () =>
      fetch(new URL('/health', access.endpoint)).then(
        ({ ok }) => ok,
        () => false,
      ),
  });
  return testS3(access, async () => {
    await stopProcess(child, 'SIGTERM', 3_000);
    await rm(folder, { recursive: true, force: true });
  });
}

function testS3(access: S3Access, stopServer: () => Promise<void>): TestS3 {
  const { endpoint, region, accessKeyId, secretAccessKey } = access;
  const client = new S3Client({
    endpoint: endpoint.href,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  const keysOf = async (Bucket: string): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket })) {
      for (const { Key } of Contents) if (Key !== undefined) keys.push(Key);
    }
    return keys;
  };
  const drop = async (Bucket: string): Promise<void> => {
    for (const Key of await keysOf(Bucket)) await client.send(new DeleteObjectCommand({ Bucket, Key }));
    await client.send(new DeleteBucketCommand({ Bucket }));
  };
  return {
    access,
    freshBucket: async () => {
      const name = `kr-test-${randomBytes(6).toString('hex')}`;
      await client.send(new CreateBucketCommand({ Bucket: name }));
      return { name, keys: () => keysOf(name), drop: () => drop(name) };
    },
    environment: (bucket) => ({
      FILES_STORE: 's3',
      S3_ENDPOINT: endpoint.href,
      S3_REGION: region,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
    }),
    stop: async () => {
      client.destroy();
      await stopServer();
    },
  };
}
