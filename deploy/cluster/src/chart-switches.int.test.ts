import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from '@jest/globals';
import { fakeKubernetes } from './testing/fake-kubernetes.ts';
import { openHelm } from './testing/open-helm.ts';
import { pathOf, podOf, renderChart, resourcesIn } from './testing/render-chart.ts';
import type { Resource } from './testing/resource.ts';

/** Required values without a default. */
const IDENTIFIERS = 'identifiers.doiPrefix=10.1234,identifiers.oaiPrefix=repository.example.org';
const PEERS = 'networkPolicy.ingressPeers[0].podSelector.matchLabels.app=ingress';
const PROXIES = `trustedProxies={10.0.0.0/8},${PEERS}`;
const DEV = pathOf('knowledge-repository/values.dev.yaml');
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

/** The services that answer calls of operators. */
const ADMIN_SERVICES = ['gateway', 'records', 'packages', 'files', 'search'];

const helm = await openHelm();

if ('missing' in helm) test.skip(`switches of the chart (${helm.missing})`, () => {});
else {
  const render = (set: string, ...more: string[]) =>
    renderChart(helm, ['--set', `${IDENTIFIERS},${set}`, ...more]);

  test.each([
    ['a secret as a variable', 'services.gateway.env.SEALING_KEY=x', 'SEALING_KEY'],
    ['a password in an address', 'env.DATABASE_URL=postgres://a:b@c/d', 'DATABASE_URL'],
    ['an unknown value', 'services.records.replica=2', 'replica'],
    ['an unknown store', 'files.store=tape', 'files/store|files.store'],
    ['no DOI prefix', 'identifiers.doiPrefix=', 'identifiers.doiPrefix is required'],
    ['no OAI prefix', 'identifiers.oaiPrefix=', 'identifiers.oaiPrefix is required'],
    ['the DOI prefix of tests', 'identifiers.doiPrefix=10.5072', 'identifiers.allowTest'],
    ['files in a folder without a claim', 'files.store=filesystem', 'files.existingClaim is required'],
    ['files in no bucket', 'files.s3.bucket=', 'files.s3.bucket is required'],
    ['Elasticsearch without address', 'search.engine=elasticsearch', 'search.elasticsearch.url is required'],
    ['sign-in for no audience', 'oidc.issuer=https://login', 'oidc.audience is required'],
    [
      'an ingress of unknown proxies',
      'ingress.enabled=true,ingress.tlsSecret=tls',
      'trustedProxies is required',
    ],
    [
      'an ingress whose pods are not named',
      'ingress.enabled=true,ingress.tlsSecret=tls,trustedProxies={10.0.0.0/8}',
      'networkPolicy.ingressPeers is required',
    ],
    ['a route of unknown proxies', 'httpRoute.enabled=true', 'trustedProxies is required'],
    ['a route without Gateway', `httpRoute.enabled=true,${PROXIES}`, 'httpRoute.parentRefs is required'],
    ['https without TLS', `ingress.enabled=true,${PROXIES}`, 'set ingress.tlsSecret, or ingress.tlsInFront'],
    [
      'http with TLS',
      `ingress.enabled=true,${PROXIES},ingress.tlsSecret=tls,publicUrl=http://x.org`,
      'publicUrl has to be https',
    ],
    ['backups without a volume', 'backup.enabled=true', 'backup.existingClaim is required'],
    [
      'two authorities',
      'caBundle.existingSecret=a,caBundle.existingConfigMap=b',
      'either existingConfigMap or existingSecret',
    ],
  ])('refuses %s', async (_, set, reason) => {
    await expect(render(set)).rejects.toThrow(new RegExp(reason));
  });

  test.each([
    [
      'replicas of files on a volume of one node',
      'services.files.replicas=2',
      'files.existingClaim is required',
    ],
    ['permanent DOIs', 'datacite.repository=EXAMPLE.REPOSITORY', 'datacite.repository registers permanent'],
    [
      'a migration before there is a database',
      'migrations.hook.enabled=true',
      'migrations.hook.enabled has to be',
    ],
  ])('refuses, for a trial, %s', async (_, set, reason) => {
    await expect(renderChart(helm, ['-f', DEV, '--set', set])).rejects.toThrow(new RegExp(reason));
  });

  test('names all problems at once', async () => {
    const set = 'identifiers.doiPrefix=,identifiers.oaiPrefix=,ingress.enabled=true';
    await expect(render(set)).rejects.toThrow(
      /doiPrefix[\s\S]*oaiPrefix[\s\S]*trustedProxies[\s\S]*ingressPeers[\s\S]*tlsSecret/,
    );
  });

  /** Each appears in the pods of all services and in the Jobs that migrate their databases. */
  test.each([
    [
      'image.digest',
      DIGEST,
      { containers: [{ image: expect.stringMatching(/knowledge-repository@sha256:/) }] },
    ],
    [
      'image.tag',
      'v9',
      { containers: [{ image: 'registry.example.org/knowledge/knowledge-repository:v9' }] },
    ],
    ['image.pullPolicy', 'Always', { containers: [{ imagePullPolicy: 'Always' }] }],
    ['image.pullSecrets[0].name', 'pull', { imagePullSecrets: [{ name: 'pull' }] }],
    ['resources.requests.cpu', '7', { containers: [{ resources: { requests: { cpu: 7 } } }] }],
    ['nodeSelector.disk', 'ssd', { nodeSelector: { disk: 'ssd' } }],
    ['tolerations[0].operator', 'Exists', { tolerations: [{ operator: 'Exists' }] }],
    ['affinity.podAffinity.x', 'y', { affinity: { podAffinity: { x: 'y' } } }],
    ['priorityClassName', 'high', { priorityClassName: 'high' }],
    ['serviceAccountName', 'account', { serviceAccountName: 'account' }],
    ['env.LOG_LEVEL', 'debug', { containers: [{ env: has({ name: 'LOG_LEVEL', value: 'debug' }) }] }],
    ['extraEnv[0].name', 'TZ', { containers: [{ env: has({ name: 'TZ' }) }] }],
    [
      'extraEnvFrom[0].configMapRef.name',
      'c',
      { containers: [{ envFrom: [{ configMapRef: { name: 'c' } }] }] },
    ],
    ['extraVolumes[0].name', 'v', { volumes: has({ name: 'v' }) }],
    ['extraVolumeMounts[0].name', 'v', { containers: [{ volumeMounts: has({ name: 'v' }) }] }],
    [
      'caBundle.existingSecret',
      'ca',
      {
        containers: [
          {
            env: has({ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/ca-bundle/ca.crt' }),
            volumeMounts: has({ name: 'ca-bundle', mountPath: '/etc/ca-bundle', readOnly: true }),
          },
        ],
        volumes: has({
          name: 'ca-bundle',
          secret: { secretName: 'ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] },
        }),
      },
    ],
    ['caBundle.existingConfigMap', 'ca', { volumes: has({ name: 'ca-bundle', configMap: { name: 'ca' } }) }],
  ])('%s is in every pod', async (name, value, expected) => {
    const resources = await render(`${name}=${value}`);
    const pods = resources.flatMap((resource) => podOf(resource)?.spec ?? []);
    expect(pods.length).toBeGreaterThan(13);
    for (const pod of pods) expect(pod).toMatchObject(expected);
  });

  test.each([
    ['podLabels.mesh=on', { labels: { mesh: 'on' } }],
    ['commonLabels.team=data', { labels: { team: 'data' } }],
    ['podAnnotations.scan=on', { annotations: { scan: 'on' } }],
    ['nameOverride=rivers', { labels: { 'app.kubernetes.io/name': 'rivers' } }],
  ])('%s is in the metadata of every pod', async (set, expected) => {
    const resources = await render(set);
    for (const pod of resources.flatMap((resource) => podOf(resource) ?? []))
      expect(pod.metadata).toMatchObject(expected);
  });

  test('resources have the labels that Kubernetes recommends, and the common ones', async () => {
    const set =
      'commonLabels.team=data,podLabels.mesh=on,metrics.enabled=true,metrics.dashboard.enabled=true';
    const more = 'metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true';
    for (const { kind, metadata } of await render(`${set},${more}`)) {
      expect(metadata.labels).toMatchObject({
        team: 'data',
        'app.kubernetes.io/name': 'knowledge-repository',
        'app.kubernetes.io/instance': 'repository',
        'app.kubernetes.io/version': expect.any(String),
        'app.kubernetes.io/managed-by': 'Helm',
      });
      expect(metadata.labels).not.toHaveProperty('mesh');
      if (kind === 'Deployment')
        expect(metadata.name).toBe(`repository-${metadata.labels?.['app.kubernetes.io/component']}`);
    }
  });

  test.each([
    [
      'autoscaling.enabled=true,autoscaling.maxReplicas=9,autoscaling.targetCPUUtilizationPercentage=50',
      'HorizontalPodAutoscaler repository-files',
      {
        spec: {
          minReplicas: 2,
          maxReplicas: 9,
          metrics: [{ resource: { target: { averageUtilization: 50 } } }],
        },
      },
    ],
    [
      'services.search.autoscaling.behavior.scaleDown.stabilizationWindowSeconds=600',
      'HorizontalPodAutoscaler repository-search',
      { spec: { behavior: { scaleDown: { stabilizationWindowSeconds: 600 } } } },
    ],
    ['replicas=5', 'Deployment repository-files', { spec: { replicas: 5 } }],
    [
      'startupSeconds=60',
      'Deployment repository-files',
      { spec: { template: { spec: { containers: [{ startupProbe: { failureThreshold: 12 } }] } } } },
    ],
    ['startupSeconds=60', 'Job repository-files-migration', { spec: { activeDeadlineSeconds: 60 } }],
    [
      'strategy.rollingUpdate.maxSurge=3',
      'Deployment repository-web',
      { spec: { strategy: { rollingUpdate: { maxSurge: 3 } } } },
    ],
    [
      'existingSecretPrefix=mine',
      'Deployment repository-web',
      { spec: { template: { spec: { containers: [{ env: fromSecret('mine-web', 'WEB_KEY') }] } } } },
    ],
    [
      'services.web.existingSecret=other',
      'Deployment repository-web',
      { spec: { template: { spec: { containers: [{ env: fromSecret('other', 'WEB_KEY') }] } } } },
    ],
    [
      'networkPolicy.extraEgress[0].ports[0].port=99',
      'NetworkPolicy repository-web',
      { spec: { egress: has({ ports: [{ port: 99 }] }) } },
    ],
    [
      'services.web.extraEgress[0].ports[0].port=99',
      'NetworkPolicy repository-web',
      { spec: { egress: has({ ports: [{ port: 99 }] }) } },
    ],
    [
      'metrics.enabled=true,metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.interval=7s',
      'ServiceMonitor repository',
      { spec: { jobLabel: 'app.kubernetes.io/component', endpoints: [{ interval: '7s' }] } },
    ],
    [
      `httpRoute.enabled=true,httpRoute.parentRefs[0].name=public,httpRoute.annotations.a=b,${PROXIES}`,
      'HTTPRoute repository-gateway',
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        metadata: { annotations: { a: 'b' } },
        spec: {
          parentRefs: [{ name: 'public' }],
          hostnames: ['repository.example.org'],
          rules: [
            ['/', 'repository-web'],
            ['/api', 'repository-gateway'],
            ['/api/iiif', 'repository-web'],
          ].map(([value, name]) => ({
            matches: [{ path: { type: 'PathPrefix', value } }],
            backendRefs: [{ name, port: 8080 }],
          })),
        },
      },
    ],
  ])('%s is in %s', async (set, resource, expected) => {
    const found = (await render(set)).find(({ kind, metadata }) => `${kind} ${metadata.name}` === resource);
    expect(found).toMatchObject(expected);
  });

  test('values of one service replace the general ones, and their maps are merged', async () => {
    const set =
      'priorityClassName=high,services.web.priorityClassName=,env.A=1,env.B=1,services.web.env.B=2,autoscaling.enabled=true,services.web.autoscaling.enabled=false';
    const resources = await render(set);
    const web = resources.find(
      ({ kind, metadata }) => `${kind} ${metadata.name}` === 'Deployment repository-web',
    );
    const pod = (web && podOf(web))?.spec;
    expect(pod).not.toHaveProperty('priorityClassName');
    expect(pod?.containers[0]?.env).toEqual(
      expect.arrayContaining([
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ]),
    );
    const scaled = resources.filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
    expect(scaled.map(({ metadata }) => metadata.name)).not.toContain('repository-web');
    expect(scaled).toHaveLength(6);
  });

  test('takes other names, and an ingress of nginx that passes bodies of any length', async () => {
    const resources = await render(
      `fullnameOverride=rivers,ingress.enabled=true,ingress.className=nginx,ingress.tlsInFront=true,${PROXIES}`,
    );
    const others = resources
      .map(({ metadata }) => metadata.name)
      .filter((name) => !name.startsWith('rivers'));
    expect(others).toEqual([]);
    const ingress = resources.find(({ kind }) => kind === 'Ingress');
    expect(ingress?.metadata).toMatchObject({
      name: 'rivers-gateway',
      annotations: {
        'nginx.ingress.kubernetes.io/proxy-body-size': '0',
        'nginx.ingress.kubernetes.io/proxy-request-buffering': 'off',
      },
    });
    // Pages come from their service, everything else from the API.
    const { paths = [] } = ingress?.spec.rules?.[0]?.http ?? {};
    expect(paths.map(({ path, backend }) => [path, backend.service.name]).sort()).toEqual([
      ['/', 'rivers-web'],
      ['/api', 'rivers-gateway'],
      ['/api/iiif', 'rivers-web'],
    ]);
    // Addresses follow the names.
    expect(JSON.stringify(resources)).toContain('"value":"rivers-records:50051"');
  });

  test('an ingress ends TLS with its Secret', async () => {
    const resources = await render(`ingress.enabled=true,ingress.tlsSecret=tls,${PROXIES}`);
    expect(resources.find(({ kind }) => kind === 'Ingress')).toMatchObject({
      spec: { tls: [{ hosts: ['repository.example.org'], secretName: 'tls' }] },
    });
  });

  test.each([
    ['networkPolicy.enabled=false', 'NetworkPolicy'],
    ['migrations.hook.enabled=false', 'Job repository-files-migration'],
    ['x', 'Ingress'],
    ['x', 'HTTPRoute'],
    ['x', 'ServiceMonitor'],
    ['x', 'PrometheusRule'],
    ['x', 'ConfigMap'],
    ['x', 'StatefulSet'],
    ['x', 'CronJob'],
    ['x', 'Deployment repository-toolbox'],
    ['x', 'Job repository-first-admin'],
  ])('with %s there is no %s', async (set, absent) => {
    const resources = await render(set === 'x' ? 'replicas=2' : set);
    expect(resources.length).toBeGreaterThan(20);
    const names = resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names.filter((name) => name.startsWith(absent))).toEqual([]);
  });

  test('helm test calls the gateway and the pages, with the rights to do only that', async () => {
    const resources = await render('replicas=2');
    const named = resources.filter(({ metadata }) => metadata.name === 'repository-connection-test');
    expect(named.map(({ kind, metadata }) => [kind, metadata.annotations?.['helm.sh/hook']]).sort()).toEqual([
      ['Job', 'test'],
      ['NetworkPolicy', 'test'],
    ]);
    const job = named.find(({ kind }) => kind === 'Job');
    expect((job && podOf(job))?.spec.containers[0]?.args).toEqual([
      'check-health',
      'http://repository-gateway:8080/api/records',
      'http://repository-web:8080/',
    ]);
  });

  test('the tool of operators has their Secret, and reaches what its commands need', async () => {
    const resources = await render(
      'toolbox.enabled=true,firstAdmin.enabled=true,firstAdmin.name=ada,backup.enabled=true,backup.existingClaim=backups,backup.schedule=0 3 * * 6',
    );
    const named = (resource: string) =>
      resources.find(({ kind, metadata }) => `${kind} ${metadata.name}` === `${resource}`);
    const [toolbox, firstAdmin, backup] = [
      'Deployment repository-toolbox',
      'Job repository-first-admin',
      'CronJob repository-backup',
    ].map(named);
    const withKeys = {
      volumes: has({ name: 'operator', secret: { secretName: 'knowledge-operator' } }),
      containers: [{ volumeMounts: has({ mountPath: '/operator' }) }],
    };
    for (const workload of [toolbox, firstAdmin, backup])
      expect((workload && podOf(workload))?.spec).toMatchObject(withKeys);
    const argsOf = (workload: Resource | undefined) =>
      (workload && podOf(workload))?.spec.containers[0]?.args.join(' ');
    expect(argsOf(toolbox)).toBe('sleep');
    expect(argsOf(firstAdmin)).toBe('kr-admin user create ada --admin --expires 1d');
    expect(firstAdmin?.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'post-install' });
    expect(argsOf(backup)).toBe('backup /backups 14 --without-files');
    expect(backup?.spec).toMatchObject({ schedule: '0 3 * * 6', concurrencyPolicy: 'Forbid' });
    const callersOf = (service: string) =>
      named(`NetworkPolicy repository-${service}`)?.spec.ingress?.flatMap(({ from = [] }) =>
        from.map(({ podSelector }) => podSelector?.matchLabels['app.kubernetes.io/component']),
      );
    for (const service of ADMIN_SERVICES) expect(callersOf(service)).toContain('toolbox');
    expect(callersOf('gateway')).toContain('first-admin');
    expect(callersOf('access-links')).not.toContain('toolbox');
    const egressPorts = (component: string) =>
      named(`NetworkPolicy repository-${component}`)?.spec.egress?.flatMap(({ ports }) =>
        ports.map(({ port }) => port),
      );
    expect(egressPorts('backup')).toEqual([53, 53, 5432]);
    expect(egressPorts('toolbox')).toEqual([53, 53, ...ADMIN_SERVICES.map(() => 'grpc'), 5432, 4222]);
  });

  test('pods are replaced when a Secret or a ConfigMap that they read has changed, and only they', async () => {
    const checksumsWith = async (secret: string, authorities: string) => {
      await using cluster = await fakeKubernetes({
        secrets: { 'knowledge-files': { S3_ACCESS_KEY_ID: secret } },
        configmaps: { vocabularies: { 'subjects.yaml': 'rivers' }, authorities: { 'ca.crt': authorities } },
      });
      const server = ['--dry-run=server', '--kube-apiserver', cluster.url, '--namespace', 'default'];
      const set = 'vocabulariesConfigMap=vocabularies,caBundle.existingConfigMap=authorities';
      const deployments = (await render(set, ...server)).filter(({ kind }) => kind === 'Deployment');
      return new Map(
        deployments.map((one) => [one.metadata.name, podOf(one)?.metadata.annotations ?? {}] as const),
      );
    };
    const before = await checksumsWith('a', 'b');
    const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(before.get('repository-files')).toEqual({
      'checksum/secret': digest,
      'checksum/ca-bundle': digest,
    });
    expect(before.get('repository-records')).toEqual({
      'checksum/vocabularies': digest,
      'checksum/ca-bundle': digest,
    });
    const changedFrom = (after: typeof before) =>
      [...after.keys()].filter((name) => !isDeepStrictEqual(after.get(name), before.get(name)));
    expect(changedFrom(await checksumsWith('a', 'b'))).toEqual([]);
    expect(changedFrom(await checksumsWith('other', 'b'))).toEqual(['repository-files']);
    expect(changedFrom(await checksumsWith('a', 'other'))).toHaveLength(7);
  });

  test.each([
    ['a claim that one node may mount', 1, 'Recreate'],
    ['a claim that many nodes may mount', 2, 'RollingUpdate'],
  ])('with files on %s, an upgrade can mount it', async (_, replicas, type) => {
    const store = `files.store=filesystem,files.existingClaim=bytes,services.files.replicas=${replicas}`;
    const strategies = (await render(store))
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ metadata, spec }) => [metadata.name, spec.strategy?.type]);
    expect(Object.fromEntries(strategies)).toMatchObject({
      'repository-files': type,
      'repository-records': 'RollingUpdate',
    });
  });

  test.each([
    [
      'cloudnative-pg',
      'cluster.yaml',
      ['knowledge-db-ca', 'knowledge-db-rw:5432', '"cnpg.io/cluster":"knowledge-db"'],
    ],
    [
      'eck',
      'elasticsearch.yaml',
      [
        'knowledge-search-es-http-certs-public',
        'https://knowledge-search-es-http:9200',
        '"elasticsearch.k8s.elastic.co/cluster-name":"knowledge-search"',
      ],
    ],
    ['s3', 'service-account.yaml', ['"serviceAccountName":"knowledge-files"']],
  ])('the example %s uses what its %s makes', async (example, file, uses) => {
    const [made] = resourcesIn(await readFile(pathOf(`examples/${example}/${file}`), 'utf8'));
    const values = pathOf(`examples/${example}/values.yaml`);
    const text = JSON.stringify(await renderChart(helm, ['-f', values])) + (await readFile(values, 'utf8'));
    for (const use of uses) {
      expect(use).toContain(made?.metadata.name);
      expect(text).toContain(use);
    }
  });
}

function has(item: object) {
  return expect.arrayContaining([expect.objectContaining(item)]);
}

function fromSecret(name: string, key: string) {
  return has({ name: key, valueFrom: { secretKeyRef: { name, key } } });
}
