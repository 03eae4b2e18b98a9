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
  /** `https`, under a certificate that nobody knows. */
  url: string;
  /** The certificate, which is its own authority: a file, and what is in it. */
  authorityFile: string;
  authority: string;
  /** Requests that were let through. */
  served(): number;
  stop(): Promise<void>;
}

/**
 * A door before an Elasticsearch that has none: TLS, and 401 for whoever does not say one of the words. What a key may do
 * there is not its matter.
 *
 * @throws Error when there is no `openssl` to make a certificate by
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
