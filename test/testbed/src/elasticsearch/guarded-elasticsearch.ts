import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { newRunFolder } from '../run-folder.ts';

export interface GuardedElasticsearch {
  /** `https`, with a self-signed certificate. */
  url: string;
  /** The self-signed certificate, as a file and as its content. */
  authorityFile: string;
  authority: string;
  /** Number of forwarded requests. */
  served(): number;
  stop(): Promise<void>;
}

/**
 * A TLS proxy in front of an Elasticsearch without security. Requests without one of the authorizations receive 401. It
 * does not check privileges.
 *
 * @throws Error when `openssl` is not installed
 */
export async function guardElasticsearch(
  url: string,
  authorizations: readonly string[],
): Promise<GuardedElasticsearch> {
  const folder = await newRunFolder('guarded-elasticsearch');
  const { keyFile, authorityFile } = await selfSigned(folder);
  const authority = await readFile(authorityFile, 'utf8');
  let served = 0;
  const server = createServer({ key: await readFile(keyFile), cert: authority }, (asked, answer) => {
    if (!authorizations.includes(asked.headers.authorization ?? '')) {
      answer.writeHead(401, { 'content-type': 'application/json' }).end('{"status":401}');
      return;
    }
    served += 1;
    const { method, headers } = asked;
    const passedOn = request(new URL(asked.url ?? '/', url), { method, headers }, (said) => {
      answer.writeHead(said.statusCode ?? 502, said.headers);
      pipeline(said, answer).catch(() => answer.destroy());
    });
    passedOn.on('error', () => answer.destroy());
    pipeline(asked, passedOn).catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authorityFile,
    authority,
    served: () => served,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function selfSigned(folder: string): Promise<{ keyFile: string; authorityFile: string }> {
  const [keyFile, authorityFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=a test', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ...['-keyout', keyFile, '-out', authorityFile],
  ]);
  return { keyFile, authorityFile };
}
