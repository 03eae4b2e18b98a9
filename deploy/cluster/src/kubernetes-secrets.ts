import { PROGRAMS, type Secrets } from '@kr/local-stack';
import type { Backends } from './backends.ts';
import { busAuthorization, busConfiguration } from './bus-authorization.ts';
import { databaseScript } from './database-script.ts';
import { operatorRuntime } from './operator-folder.ts';
import { serviceSecrets } from './service-secrets.ts';

interface KubernetesSecret {
  apiVersion: 'v1';
  kind: 'Secret';
  metadata: { name: string; labels: Record<string, string> };
  type: 'Opaque';
  stringData: Readonly<Record<string, string>>;
}

export interface KubernetesOptions extends Backends {
  /** `existingSecretPrefix` of the chart. */
  prefix: string;
  /** Start of the names of the Services. */
  release: string;
  /** Of the public API. */
  baseUrl: string;
  /** Where pods of the operator find the bytes of files, if they are on a volume. */
  filesFolder?: string;
}

/** Secrets of the chart, for `kubectl apply`: one for each service, the operator's, and those of the servers. */
export function kubernetesSecrets(
  secrets: Secrets,
  { prefix, release, baseUrl, filesFolder, ...backends }: KubernetesOptions,
): { apiVersion: 'v1'; kind: 'List'; items: KubernetesSecret[] } {
  const secret = (of: string, stringData: Readonly<Record<string, string>>): KubernetesSecret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `${prefix}-${of}`, labels: { 'app.kubernetes.io/part-of': 'knowledge-repository' } },
    type: 'Opaque',
    stringData,
  });
  const ofServices = PROGRAMS.map((service) => secret(service, serviceSecrets(service, secrets, backends)));
  const runtime = operatorRuntime(secrets, {
    baseUrl,
    addressOf: (service) => `${release}-${service}:50051`,
    data: { ...backends, filesFolder },
  });
  const others = [
    secret('operator', { 'runtime.json': JSON.stringify(runtime) }),
    secret('nats', {
      'nats.conf': busConfiguration(secrets),
      'authorization.conf': busAuthorization(secrets),
    }),
    secret('postgres', { password: secrets.postgresPassword, 'databases.sql': databaseScript(secrets) }),
  ];
  return { apiVersion: 'v1', kind: 'List', items: [...ofServices, ...others] };
}
