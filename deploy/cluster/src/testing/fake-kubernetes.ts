import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeKubernetes extends AsyncDisposable {
  url: string;
}

/** As much of the Kubernetes API as `lookup` in templates uses: these Secrets and ConfigMaps of the namespace default, by name. */
export async function fakeKubernetes(
  objects: Readonly<Record<'secrets' | 'configmaps', Readonly<Record<string, object>>>>,
): Promise<FakeKubernetes> {
  const kinds = { secrets: 'Secret', configmaps: 'ConfigMap' };
  const resources = Object.entries(kinds).map(([name, kind]) => ({
    name,
    kind,
    namespaced: true,
    verbs: ['get'],
  }));
  const answers: Record<string, object> = {
    '/version': { major: '1', minor: '34', gitVersion: 'v1.34.0' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': { kind: 'APIGroupList', groups: [] },
    '/api/v1': { kind: 'APIResourceList', groupVersion: 'v1', resources },
  };
  for (const [plural, kind] of Object.entries(kinds))
    for (const [name, data] of Object.entries(objects[plural as keyof typeof kinds]))
      answers[`/api/v1/namespaces/default/${plural}/${name}`] = {
        apiVersion: 'v1',
        kind,
        metadata: { name },
        data,
      };
  const server = createServer(({ url = '' }, response) => {
    const answer = answers[url.replace(/\?.*/, '')];
    const missing = { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 };
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? missing));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
