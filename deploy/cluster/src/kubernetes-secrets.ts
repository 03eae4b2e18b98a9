import { PROGRAMS, type Secrets } from '@kr/local-stack';
import type { Backends } from './backends.ts';
import { busAuthorization, busConfiguration } from './bus-authorization.ts';
import { databaseScript } from './database-script.ts';
import { serviceSecrets } from './service-secrets.ts';

interface KubernetesSecret {
  apiVersion: 'v1';
  kind: 'Secret';
  metadata: { name: string; labels: Record<string, string> };
  type: 'Opaque';
  stringData: Readonly<Record<string, string>>;
}

/**
 * Secrets of the chart, for `kubectl apply`: one for each service, and those of the servers.
 *
 * `prefix` is `existingSecretPrefix` of the chart.
 */
export function kubernetesSecrets(
  secrets: Secrets,
  { prefix, ...backends }: Backends & { prefix: string },
): { apiVersion: 'v1'; kind: 'List'; items: KubernetesSecret[] } {
  const secret = (of: string, stringData: Readonly<Record<string, string>>): KubernetesSecret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `${prefix}-${of}`, labels: { 'app.kubernetes.io/part-of': 'knowledge-repository' } },
    type: 'Opaque',
    stringData,
  });
  const ofServices = PROGRAMS.map((service) => secret(service, serviceSecrets(service, secrets, backends)));
  const ofServers = [
    secret('nats', {
      'nats.conf': busConfiguration(secrets),
      'authorization.conf': busAuthorization(secrets),
    }),
    secret('postgres', { password: secrets.postgresPassword, 'databases.sql': databaseScript(secrets) }),
  ];
  return { apiVersion: 'v1', kind: 'List', items: [...ofServices, ...ofServers] };
}
