import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CALLS, loadSecrets, PROGRAMS, type ProgramName, SERVICES, type ServiceName } from '@kr/local-stack';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { kubernetesSecrets } from './kubernetes-secrets.ts';
import { CONFIGURATIONS } from './service-variables.ts';
import { openHelm } from './testing/open-helm.ts';
import { openKubernetesSchemas } from './testing/open-kubernetes-schemas.ts';
import type { Container, PolicyRule, Resource } from './testing/resource.ts';
import { isTold } from './told-variables-fixture.ts';

/** Required values without a default. */
const IDENTIFIERS = 'identifiers.doiPrefix=10.1234,identifiers.oaiPrefix=repository.example.org';
const CHART = resolve(import.meta.dirname, '../../helm/knowledge-repository');
const SERVICES_FOLDER = resolve(import.meta.dirname, '../../../services');
const VALUES: Record<string, readonly string[]> = {
  'values.yaml': ['--set', IDENTIFIERS],
  'values.dev.yaml': ['-f', join(CHART, 'values.dev.yaml')],
  'values.everything.yaml': ['-f', join(import.meta.dirname, 'testing/values.everything.yaml')],
};

/** The parts of values files about the surroundings of services. */
interface GivenValues {
  env?: Record<string, unknown>;
  networkPolicy?: { extraEgress?: PolicyRule[]; ingressPeers?: unknown[] };
  services?: Partial<Record<ProgramName, { env?: Record<string, unknown>; extraEgress?: PolicyRule[] }>>;
}

/** By the operator, as docs/operations/install.md describes. */
const ADDED: Record<string, Record<string, string>> = {
  'mine-records': { DATACITE_PASSWORD: 'of the account' },
  'mine-packages': { DATACITE_PASSWORD: 'of the account' },
};

/** Not Kubernetes' own, but the Prometheus operator's. */
const OF_THE_OPERATOR = ['ServiceMonitor', 'PrometheusRule'];

/** Where a URL names none. */
const PORTS: Record<string, number> = { 'https:': 443, 'http:': 80 };

const helm = await openHelm();
const schemas = await openKubernetesSchemas();

if ('missing' in helm) test.skip(`the chart (${helm.missing})`, () => {});
else {
  describe.each(Object.entries(VALUES))('the chart with %s', (name, values) => {
    let folder: string;
    let resources: Resource[];
    let given: GivenValues;
    /** By name, the Secrets that our own command makes. */
    let secrets: Map<string, Readonly<Record<string, string>>>;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kr-chart-'));
      const rendered = await helm.template(CHART, values);
      resources = parseAllDocuments(rendered).flatMap((document) => document.toJS() ?? []);
      const [flag, file] = values;
      given = flag !== '-f' || file === undefined ? {} : parse(await readFile(file, 'utf8'));
      const backends = { postgres: 'postgres://postgres:5432', nats: 'nats://nats:4222' };
      const made = await loadSecrets(join(folder, 'secrets.json'));
      const prefix = name === 'values.everything.yaml' ? 'mine' : 'knowledge';
      const { items } = kubernetesSecrets(made, { ...backends, prefix });
      secrets = new Map(
        items.map(({ metadata, stringData }) => [metadata.name, { ...stringData, ...ADDED[metadata.name] }]),
      );
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    const of = (kind: string) => resources.filter((resource) => resource.kind === kind);
    const one = (kind: string, called: string): Resource => {
      const found = of(kind).find(({ metadata }) => metadata.name === called);
      if (found === undefined) throw new Error(`there is no ${kind} ${called}`);
      return found;
    };
    const containerOf = (service: ProgramName): Container => {
      const [container] = one('Deployment', `repository-${service}`).spec.template?.spec.containers ?? [];
      if (container === undefined) throw new Error(`${service} has no container`);
      return container;
    };

    /** With values from the Secrets; what is optional there and missing is left out, as the cluster does. */
    const environmentOf = (service: ProgramName): Record<string, string> => {
      const pairs = containerOf(service).env.flatMap(({ name, value, valueFrom }) => {
        if (valueFrom === undefined) return [[name, value ?? '']];
        const { name: secret, key, optional = false } = valueFrom.secretKeyRef;
        const found = secrets.get(secret)?.[key];
        if (found === undefined && !optional) throw new Error(`Secret ${secret} has no ${key}`);
        return found === undefined ? [] : [[name, found]];
      });
      return Object.fromEntries(pairs);
    };

    /** The values for one service. */
    const givenTo = (service: ProgramName): { env: object; extraEgress: PolicyRule[] } => {
      const { env, networkPolicy, services } = given;
      const own = services?.[service];
      return {
        env: { ...env, ...own?.env },
        extraEgress: [...(networkPolicy?.extraEgress ?? []), ...(own?.extraEgress ?? [])],
      };
    };

    test('passes the lint', () => helm.lint(CHART, values));

    test.each(PROGRAMS)('sets exactly the variables that %s reads, and secrets by reference', (service) => {
      expect(() => CONFIGURATIONS[service].readConfig(environmentOf(service))).not.toThrow();
      const wrong = containerOf(service).env.filter(({ name, valueFrom }) => {
        const told = isTold(service, name);
        return told === undefined || (told === 'secret' && valueFrom === undefined);
      });
      expect(wrong).toEqual([]);
    });

    test('writes every number in digits', () => {
      const inPowers = PROGRAMS.flatMap((service) => containerOf(service).env).filter(({ value = '' }) =>
        /^[\d.]+e[+-]?\d+$/i.test(value),
      );
      expect(inPowers).toEqual([]);
    });

    test('sets the addresses of the called services', () => {
      for (const service of SERVICES) {
        const addresses = Object.entries(environmentOf(service)).filter(([key]) => key.endsWith('_ADDRESS'));
        const expected = CALLS[service].map((callee) => `repository-${callee}:50051`);
        expect(addresses.map(([, address]) => address).sort()).toEqual(expected.sort());
        for (const callee of CALLS[service]) {
          expect(one('Service', `repository-${callee}`).spec.ports).toContainEqual(
            expect.objectContaining({ port: 50_051, targetPort: 'grpc' }),
          );
        }
      }
      const content = new URL(environmentOf('gateway')['FILES_CONTENT_URL'] ?? '');
      expect(one('Service', content.hostname).spec).toMatchObject({
        selector: { 'app.kubernetes.io/name': 'files' },
        ports: [{ port: Number(content.port), targetPort: 'content' }],
      });
    });

    test('opens the ports that it names', () => {
      const variables = {
        grpc: 'GRPC_PORT',
        health: 'HEALTH_PORT',
        http: 'HTTP_PORT',
        content: 'CONTENT_PORT',
      };
      for (const service of PROGRAMS) {
        const { ports, readinessProbe, livenessProbe, startupProbe } = containerOf(service);
        const told = { ...variables, metrics: 'OTEL_EXPORTER_PROMETHEUS_PORT' };
        const environment = environmentOf(service);
        const opened = Object.entries(told).flatMap(([port, variable]) =>
          environment[variable] === undefined
            ? []
            : [{ name: port, containerPort: Number(environment[variable]) }],
        );
        expect(ports).toEqual(expect.arrayContaining(opened));
        expect(ports).toHaveLength(opened.length);
        expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)).toEqual([
          { path: '/livez', port: 'health' },
          { path: '/livez', port: 'health' },
          { path: '/readyz', port: 'health' },
        ]);
      }
    });

    test('lets services reach the services they call, and no others', () => {
      const peersOn = (rules: readonly PolicyRule[], port: string) =>
        rules
          .filter(({ ports }) => ports.some((one) => one.port === port))
          .flatMap(({ from, to }) => from ?? to ?? [])
          .map(({ podSelector }) => podSelector?.matchLabels['app.kubernetes.io/name'])
          .sort();
      for (const service of SERVICES) {
        const { ingress = [], egress = [], policyTypes } = one('NetworkPolicy', `repository-${service}`).spec;
        const callers = SERVICES.filter((caller) => CALLS[caller].includes(service));
        expect(policyTypes).toEqual(['Ingress', 'Egress']);
        expect(peersOn(ingress, 'grpc')).toEqual(callers.sort());
        expect(peersOn(egress, 'grpc')).toEqual([...CALLS[service]].sort());
        expect(peersOn(ingress, 'content')).toEqual(service === 'files' ? ['gateway'] : []);
        expect(peersOn(egress, 'content')).toEqual(service === 'gateway' ? ['files'] : []);
        expect(peersOn(egress, 'http')).toEqual(service === 'gateway' ? ['web'] : []);
        const isOpen = ({ ports }: PolicyRule) => ports === undefined || ports.length === 0;
        expect([...ingress, ...egress].filter(isOpen)).toEqual([]);
      }
    });

    test('connects the gateway and the pages, which reach nothing else', () => {
      const url = new URL(environmentOf('gateway')['WEB_URL'] ?? '');
      expect(one('Service', url.hostname).spec.ports).toContainEqual(
        expect.objectContaining({ port: Number(url.port), targetPort: 'http' }),
      );
      expect(environmentOf('web')['GATEWAY_URL']).toBe('http://repository-gateway:8080');
      expect(environmentOf('web')['WEB_KEY']).toBe(environmentOf('gateway')['WEB_KEY']);
      const { ingress = [], egress = [] } = one('NetworkPolicy', 'repository-web').spec;
      const portsOf = (rules: readonly PolicyRule[]) =>
        rules.flatMap(({ ports }) => ports.map(({ port }) => port));
      const fromIngress = given.networkPolicy?.ingressPeers?.length ? ['http'] : [];
      expect(portsOf(ingress).filter((port) => port !== 'metrics')).toEqual(['http', ...fromIngress]);
      const further = givenTo('web').extraEgress.flatMap(({ ports }) => ports.map(({ port }) => port));
      expect(portsOf(egress)).toEqual([53, 53, 'http', ...further]);
    });

    test('lets services reach the servers that their variables name', () => {
      const portsOut = (service: ServiceName) =>
        (one('NetworkPolicy', `repository-${service}`).spec.egress ?? []).flatMap(({ ports }) =>
          ports.map(({ port }) => port),
        );
      for (const service of SERVICES) {
        const { DATABASE_URL, NATS_URL, S3_BUCKET, S3_ENDPOINT, ELASTICSEARCH_URL } = environmentOf(service);
        const store = S3_BUCKET === undefined ? undefined : (S3_ENDPOINT ?? 'https://s3');
        const urls = [DATABASE_URL, NATS_URL, store, ELASTICSEARCH_URL].filter((url) => url !== undefined);
        const needed = urls
          .map((url) => new URL(url))
          .map(({ port, protocol }) => Number(port) || PORTS[protocol]);
        expect(portsOut(service)).toEqual(expect.arrayContaining(needed));
      }
    });

    test('gives pods no rights', () => {
      for (const workload of [...of('Deployment'), ...of('StatefulSet'), ...of('Job')]) {
        const pod = workload.spec.template?.spec;
        expect(pod).toMatchObject({
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        });
        for (const { securityContext, resources: room } of pod?.containers ?? []) {
          expect(securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          expect(room).toMatchObject({ requests: expect.anything(), limits: { memory: expect.anything() } });
        }
      }
    });

    test('migrates each database before its release, unless the database is part of it', () => {
      const jobs = of('Job');
      const migrated = name === 'values.dev.yaml' ? [] : SERVICES;
      expect(jobs.map(({ metadata }) => metadata.name).sort()).toEqual(
        migrated.map((service) => `repository-${service}-migration`).sort(),
      );
      for (const service of migrated) {
        const job = one('Job', `repository-${service}-migration`);
        const policy = one('NetworkPolicy', `repository-${service}-migration`);
        for (const { metadata } of [job, policy])
          expect(metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade');
        const labels = job.spec.template?.metadata.labels;
        expect(labels).toMatchObject(policy.spec.podSelector?.matchLabels ?? { none: 'none' });
        for (const { spec } of of('Service')) expect(labels).not.toMatchObject(spec.selector ?? {});
        expect(policy.spec.ingress).toBeUndefined();
        const database = new URL(environmentOf(service)['DATABASE_URL'] ?? '');
        const { env, extraEgress } = givenTo(service);
        expect(policy.spec.egress?.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([
          53,
          53,
          Number(database.port) || PORTS[database.protocol],
          ...extraEgress.flatMap(({ ports }) => ports.map(({ port }) => port)),
        ]);
        const pod = job.spec.template?.spec;
        expect(pod?.serviceAccountName).toBe(
          one('Deployment', `repository-${service}`).spec.template?.spec.serviceAccountName,
        );
        const [container] = pod?.containers ?? [];
        const given = [...Object.keys(env), 'DATABASE_URL'];
        expect(container?.env).toHaveLength(given.length);
        expect(container?.env).toEqual(
          expect.arrayContaining(
            containerOf(service).env.filter((variable) => given.includes(variable.name)),
          ),
        );
        for (const program of container?.args ?? ['none'])
          expect(existsSync(join(SERVICES_FOLDER, service, program))).toBe(true);
      }
    });

    test('adds labels, volumes, variables and scheduling of the values to every pod', () => {
      if (name !== 'values.everything.yaml') return;
      for (const { metadata, spec } of [...of('Deployment'), ...of('Job')]) {
        expect(metadata.labels).toMatchObject({ 'example.org/team': 'data' });
        expect(metadata.labels).not.toHaveProperty('example.org/mesh');
        expect(spec.template?.metadata.labels).toMatchObject({
          'example.org/team': 'data',
          'example.org/mesh': 'enabled',
        });
        expect(spec.template?.spec).toMatchObject({
          priorityClassName: 'important',
          affinity: { nodeAffinity: expect.anything() },
        });
        expect(spec.template?.spec).toMatchObject({
          volumes: expect.arrayContaining([{ name: 'ca', configMap: { name: 'ca' } }]),
          containers: [
            {
              envFrom: [{ configMapRef: { name: 'proxy' } }],
              volumeMounts: expect.arrayContaining([{ name: 'ca', mountPath: '/etc/ca', readOnly: true }]),
            },
          ],
        });
      }
    });

    test('has the image digest and the autoscaling behaviour of the values', () => {
      if (name !== 'values.everything.yaml') return;
      expect(containerOf('search')).toMatchObject({
        image: expect.stringMatching(/\/search@sha256:[0-9a-f]{64}$/),
      });
      expect(containerOf('records')).toMatchObject({ image: expect.stringMatching(/\/records:1\.2\.3$/) });
      expect(one('HorizontalPodAutoscaler', 'repository-search').spec).toMatchObject({
        behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
      });
    });

    test('has no secret in it', () => {
      expect(of('Secret')).toEqual([]);
      const rendered = JSON.stringify(resources);
      for (const content of secrets.values())
        for (const secret of Object.values(content)) expect(rendered).not.toContain(secret);
    });

    test('brings along the servers that the Secrets name, if any', () => {
      const servers = of('StatefulSet').map(({ metadata }) => metadata.name);
      expect(servers).toEqual(name === 'values.dev.yaml' ? ['nats', 'postgres'] : []);
      const { DATABASE_URL = '', NATS_URL = '' } = environmentOf('records');
      const ports = new Map(
        of('Service').map(({ metadata, spec }) => [metadata.name, spec.ports?.[0]?.port]),
      );
      for (const url of servers.length > 0 ? [DATABASE_URL, NATS_URL].map((text) => new URL(text)) : [])
        expect(ports.get(url.hostname)).toBe(Number(url.port));
    });

    test('watches ports that services have', () => {
      for (const monitor of of('ServiceMonitor')) {
        for (const { port } of monitor.spec.endpoints ?? []) {
          const serving = of('Service').filter(({ spec }) => spec.ports?.some((one) => one.name === port));
          expect(serving).toHaveLength(PROGRAMS.length);
        }
      }
    });

    test('brings the alerts and the dashboard as they are in its folder, where they are wanted', async () => {
      const [alerts, dashboard] = await Promise.all(
        ['alerts.yaml', 'dashboard.json'].map((file) => readFile(join(CHART, 'observability', file), 'utf8')),
      );
      const isWanted = name === 'values.everything.yaml';
      const linked = alerts?.replaceAll('docs/operations/observe.md#', 'https://docs.example.org/observe#') ?? '';
      expect(of('PrometheusRule').map(({ spec }) => spec)).toEqual(isWanted ? [parse(linked)] : []);
      const shown = of('ConfigMap').filter(({ metadata }) => metadata.labels?.['grafana_dashboard'] === '1');
      expect(shown.map(({ data }) => JSON.parse(data?.['knowledge-repository.json'] ?? ''))).toEqual(
        isWanted ? [JSON.parse(dashboard ?? '')] : [],
      );
    });

    test('traces the share of requests in the values', () => {
      const told = Object.entries(environmentOf('records')).filter(([variable]) =>
        /^OTEL_.*TRACES/.test(variable),
      );
      expect(Object.fromEntries(told)).toEqual(
        name === 'values.everything.yaml'
          ? {
              OTEL_TRACES_EXPORTER: 'otlp',
              OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces',
              OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
              OTEL_TRACES_SAMPLER_ARG: '0.25',
            }
          : {},
      );
    });

    if ('missing' in schemas) test.skip(`is what Kubernetes takes (${schemas.missing})`, () => {});
    else {
      test('is what Kubernetes takes', async () => {
        const ofKubernetes = resources.filter(({ kind }) => !OF_THE_OPERATOR.includes(kind));
        const file = join(folder, `${name}.rendered.yaml`);
        await writeFile(
          file,
          ofKubernetes.map((resource) => stringify(resource, { version: '1.1' })).join('---\n'),
        );
        await schemas.check(file);
      });
    }
  });

  test.each([
    ['a secret as a variable', ['--set', 'services.gateway.env.SEALING_KEY=x'], 'SEALING_KEY'],
    ['a password in an address', ['--set', 'env.DATABASE_URL=postgres://a:b@c/d'], 'DATABASE_URL'],
    ['a value that there is none of', ['--set', 'services.records.replica=2'], 'replica'],
    [
      'a folder of files without a claim',
      ['--set', 'files.store=filesystem'],
      'files.existingClaim is needed',
    ],
    [
      'Elasticsearch without an address',
      ['--set', 'search.engine=elasticsearch'],
      'search.elasticsearch.url is needed',
    ],
    [
      'an ingress whose proxies are unknown',
      ['--set', 'ingress.enabled=true,ingress.tlsSecret=tls'],
      'trustedProxies is required',
    ],
    [
      'https without TLS',
      ['--set', 'ingress.enabled=true,trustedProxies={10.0.0.0/8}'],
      'set ingress.tlsSecret, or ingress.tlsInFront',
    ],
    ['a store that there is none of', ['--set', 'files.store=tape'], 'files/store|files.store'],
  ])('refuses %s', async (_, values, reason) => {
    const all = ['--set', IDENTIFIERS, ...values];
    await expect(helm.template(CHART, all)).rejects.toThrow(new RegExp(reason));
  });

  test.each([
    ['identifiers.doiPrefix', 'identifiers.oaiPrefix=repository.example.org'],
    ['identifiers.oaiPrefix', 'identifiers.doiPrefix=10.1234'],
  ])('requires %s', async (missing, given) => {
    await expect(helm.template(CHART, ['--set', given])).rejects.toThrow(`${missing} is required`);
  });

  test('takes other names, and an ingress of nginx that passes bodies of any length', async () => {
    const set =
      'fullnameOverride=rivers,ingress.enabled=true,ingress.className=nginx,ingress.tlsInFront=true';
    const rendered = await helm.template(CHART, [
      '--set',
      `${IDENTIFIERS},${set},trustedProxies={10.0.0.0/8}`,
    ]);
    const resources = parseAllDocuments(rendered).flatMap((document): Resource[] => document.toJS() ?? []);
    expect(
      resources.map(({ metadata }) => metadata.name).filter((name) => !name.startsWith('rivers')),
    ).toEqual([]);
    expect(resources.find(({ kind }) => kind === 'Ingress')?.metadata).toMatchObject({
      name: 'rivers-gateway',
      annotations: {
        'nginx.ingress.kubernetes.io/proxy-body-size': '0',
        'nginx.ingress.kubernetes.io/proxy-request-buffering': 'off',
      },
    });
    // Pages come from their service, everything else from the API.
    const ingress = resources.find(({ kind }) => kind === 'Ingress');
    const { paths = [] } = ingress?.spec.rules?.[0]?.http ?? {};
    expect(paths.map(({ path, backend }) => [path, backend.service.name]).sort()).toEqual([
      ['/', 'rivers-web'],
      ['/api', 'rivers-gateway'],
      ['/api/iiif', 'rivers-web'],
    ]);
    // Addresses follow the names.
    expect(rendered).toContain('value: "rivers-records:50051"');
  });

  test('has no ingress unless it is switched on', async () => {
    const rendered = await helm.template(CHART, ['--set', IDENTIFIERS]);
    expect(parseAllDocuments(rendered).map((document) => document.toJS()?.kind)).not.toContain('Ingress');
  });

  test('creates no network policies if they are switched off', async () => {
    const rendered = await helm.template(CHART, ['--set', `${IDENTIFIERS},networkPolicy.enabled=false`]);
    const kinds = parseAllDocuments(rendered).map((document) => document.toJS()?.kind);
    expect(kinds).toContain('Job');
    expect(kinds).not.toContain('NetworkPolicy');
  });

  test.each([
    ['a claim that one node may mount', 1, 'Recreate'],
    ['a claim that many nodes may mount', 2, 'RollingUpdate'],
  ])('with files on %s, an upgrade can mount it', async (_, replicas, type) => {
    const store = `files.store=filesystem,files.existingClaim=bytes,services.files.replicas=${replicas}`;
    const rendered = await helm.template(CHART, ['--set', `${IDENTIFIERS},${store}`]);
    const strategies = parseAllDocuments(rendered)
      .map((document): Resource => document.toJS())
      .filter((resource) => resource?.kind === 'Deployment')
      .map(({ metadata, spec }) => [metadata.name, spec.strategy?.type]);
    expect(Object.fromEntries(strategies)).toMatchObject({
      'repository-files': type,
      'repository-records': 'RollingUpdate',
    });
  });
}
