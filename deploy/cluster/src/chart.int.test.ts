import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CALLS, loadSecrets, PROGRAMS, type ProgramName, SERVICES, type ServiceName } from '@kr/local-stack';
import { parse } from 'yaml';
import { kubernetesSecrets } from './kubernetes-secrets.ts';
import { CONFIGURATIONS } from './service-variables.ts';
import { openHelm } from './testing/open-helm.ts';
import { openKubernetesSchemas } from './testing/open-kubernetes-schemas.ts';
import { CHART, pathOf, podOf, renderChart, VALUES_FILES, WORKLOADS } from './testing/render-chart.ts';
import type { Container, PolicyRule, Resource } from './testing/resource.ts';
import { isTold } from './told-variables-fixture.ts';

/** The parts of values files that the tests read. */
interface GivenValues extends ServiceValues {
  fullnameOverride?: string;
  existingSecretPrefix?: string;
  dev?: { enabled: boolean };
  migrations?: { hook: { enabled: boolean } };
  networkPolicy?: { enabled?: boolean; ingressPeers?: object[]; extraEgress?: PolicyRule[] };
  caBundle?: object;
  metrics?: { prometheusRule?: { enabled: boolean; runbookUrl?: string }; dashboard?: { enabled: boolean } };
  tracing?: { endpoint: string; ratio?: number };
  services?: Partial<Record<ProgramName, ServiceValues & { extraEgress?: PolicyRule[] }>>;
}
interface ServiceValues {
  env?: Record<string, unknown>;
  extraEnv?: { name: string; value: string }[];
  existingSecret?: string;
}

/** Not Kubernetes' own, but of operators and the Gateway API. */
const CUSTOM_KINDS = ['ServiceMonitor', 'PrometheusRule', 'HTTPRoute'];
/** The supported versions of the chart up to the newest. */
const KUBERNETES_VERSIONS = ['1.31', '1.32', '1.33', '1.34', '1.37'];

/** Addresses of servers outside of the release. */
const URL_VARIABLES = [
  'DATABASE_URL',
  'NATS_URL',
  'ELASTICSEARCH_URL',
  'DATACITE_URL',
  'OIDC_ISSUER',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
];

/** Where a URL names none. */
const PORTS: Record<string, number> = { 'https:': 443, 'http:': 80 };

const helm = await openHelm();
const schemas = await openKubernetesSchemas();
const rendered: { file: string; resource: Resource }[] = [];

if ('missing' in helm) test.skip(`the chart (${helm.missing})`, () => {});
else {
  describe.each(VALUES_FILES)('the chart with %s', (file) => {
    let folder: string;
    let resources: Resource[];
    let given: GivenValues;
    let prefix: string;
    /** By name, the Secrets that our own command makes. */
    let secrets: Map<string, Readonly<Record<string, string>>>;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kr-chart-'));
      resources = await renderChart(helm, ['-f', pathOf(file)]);
      rendered.push(...resources.map((resource) => ({ file, resource })));
      given = parse(await readFile(pathOf(file), 'utf8'));
      prefix = given.fullnameOverride ?? 'repository';
      const backends = { postgres: 'postgres://postgres:5432', nats: 'nats://nats:4222' };
      const made = await loadSecrets(join(folder, 'secrets.json'));
      const secretPrefix = given.existingSecretPrefix ?? 'knowledge';
      const options = { ...backends, prefix: secretPrefix, release: prefix, baseUrl: 'http://127.0.0.1' };
      const { items } = kubernetesSecrets(made, options);
      secrets = new Map(items.map(({ metadata, stringData }) => [metadata.name, stringData]));
      // By the operator, as docs/operations/install.md describes.
      for (const name of [`${secretPrefix}-records`, `${secretPrefix}-packages`])
        secrets.set(name, { ...secrets.get(name), DATACITE_PASSWORD: 'of the account' });
      for (const [service, { existingSecret }] of Object.entries(given.services ?? {}))
        if (existingSecret !== undefined)
          secrets.set(existingSecret, secrets.get(`${secretPrefix}-${service}`) ?? {});
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    const hasPolicies = () => given.networkPolicy?.enabled !== false;
    const of = (kind: string) => resources.filter((resource) => resource.kind === kind);
    const one = (kind: string, called: string): Resource => {
      const found = of(kind).find(({ metadata }) => metadata.name === called);
      if (found === undefined) throw new Error(`there is no ${kind} ${called}`);
      return found;
    };
    const containerOf = (service: ProgramName): Container => {
      const [container] = one('Deployment', `${prefix}-${service}`).spec.template?.spec.containers ?? [];
      if (container === undefined) throw new Error(`${service} has no container`);
      return container;
    };

    /** With values from the Secrets; what is optional there and missing is left out, as the cluster does. */
    const environmentOf = (service: ProgramName): Record<string, string> => {
      const pairs = (containerOf(service).env ?? []).flatMap(({ name, value, valueFrom }) => {
        if (valueFrom === undefined) return [[name, value ?? '']];
        const { name: secret, key, optional = false } = valueFrom.secretKeyRef;
        const found = secrets.get(secret)?.[key];
        if (found === undefined && !optional) throw new Error(`Secret ${secret} has no ${key}`);
        return found === undefined ? [] : [[name, found]];
      });
      return Object.fromEntries(pairs);
    };

    /** The values for one service. */
    const givenTo = (service: ProgramName) => {
      const { env, extraEnv = [], networkPolicy, services } = given;
      const own = services?.[service];
      return {
        env: { ...env, ...own?.env },
        extraEnv: own?.extraEnv ?? extraEnv,
        extraEgress: [...(networkPolicy?.extraEgress ?? []), ...(own?.extraEgress ?? [])],
      };
    };

    test('passes the lint', () => helm.lint(CHART, ['-f', pathOf(file)]));

    test.each(PROGRAMS)('sets exactly the variables that %s reads, and secrets by reference', (service) => {
      expect(() => CONFIGURATIONS[service].readConfig(environmentOf(service))).not.toThrow();
      const further = givenTo(service).extraEnv.map(({ name }) => name);
      const wrong = (containerOf(service).env ?? []).filter(({ name, valueFrom }) => {
        if (further.includes(name) || name === 'NODE_EXTRA_CA_CERTS') return false;
        const told = isTold(service, name);
        return told === undefined || (told === 'secret' && valueFrom === undefined);
      });
      expect(wrong).toEqual([]);
    });

    test('writes every number in digits', () => {
      const inPowers = PROGRAMS.flatMap((service) => containerOf(service).env ?? []).filter(
        ({ value = '' }) => /^[\d.]+e[+-]?\d+$/i.test(value),
      );
      expect(inPowers).toEqual([]);
    });

    test('sets the addresses of the called services', () => {
      for (const service of SERVICES) {
        const addresses = Object.entries(environmentOf(service)).filter(([key]) => key.endsWith('_ADDRESS'));
        const expected = CALLS[service].map((callee) => `${prefix}-${callee}:50051`);
        expect(addresses.map(([, address]) => address).sort()).toEqual(expected.sort());
        for (const callee of CALLS[service]) {
          expect(one('Service', `${prefix}-${callee}`).spec.ports).toContainEqual(
            expect.objectContaining({ port: 50_051, targetPort: 'grpc' }),
          );
        }
      }
      const content = new URL(environmentOf('gateway')['FILES_CONTENT_URL'] ?? '');
      expect(one('Service', content.hostname).spec).toMatchObject({
        selector: { 'app.kubernetes.io/component': 'files' },
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
      if (!hasPolicies()) return expect(of('NetworkPolicy')).toEqual([]);
      const peersOn = (rules: readonly PolicyRule[], port: string) =>
        rules
          .filter(({ ports }) => ports.some((one) => one.port === port))
          .flatMap(({ from, to }) => from ?? to ?? [])
          .map(({ podSelector }) => podSelector?.matchLabels['app.kubernetes.io/component'])
          .sort();
      for (const service of SERVICES) {
        const { ingress = [], egress = [], policyTypes } = one('NetworkPolicy', `${prefix}-${service}`).spec;
        const callers = SERVICES.filter((caller) => CALLS[caller].includes(service));
        expect(policyTypes).toEqual(['Ingress', 'Egress']);
        // The tool of operators is tested with its switches.
        const isService = (name: string | undefined) => SERVICES.some((service) => service === name);
        expect(peersOn(ingress, 'grpc').filter(isService)).toEqual(callers.sort());
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
      expect(environmentOf('web')['GATEWAY_URL']).toBe(`http://${prefix}-gateway:8080`);
      expect(environmentOf('web')['WEB_KEY']).toBe(environmentOf('gateway')['WEB_KEY']);
      if (!hasPolicies()) return;
      const { ingress = [], egress = [] } = one('NetworkPolicy', `${prefix}-web`).spec;
      const portsOf = (rules: readonly PolicyRule[]) =>
        rules.flatMap(({ ports }) => ports.map(({ port }) => port));
      const callers = ingress.filter(({ ports }) => ports[0]?.port !== 'metrics');
      expect(portsOf(callers)).toEqual(callers.map(() => 'http'));
      const peers = given.networkPolicy?.ingressPeers;
      const podOf = (name: string) => ({
        podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': name }) },
      });
      expect(callers.map(({ from }) => from)).toEqual([
        [podOf('connection-test')],
        [podOf('gateway')],
        ...(peers === undefined ? [] : [peers]),
      ]);
      const traces = given.tracing === undefined ? [] : [4318];
      const further = givenTo('web').extraEgress.flatMap(({ ports }) => ports.map(({ port }) => port));
      expect(portsOf(egress)).toEqual([53, 53, 'http', ...traces, ...further]);
    });

    test('lets services reach the servers that their variables name', () => {
      if (!hasPolicies()) return;
      const portsOut = (service: ServiceName) =>
        (one('NetworkPolicy', `${prefix}-${service}`).spec.egress ?? []).flatMap(({ ports }) =>
          ports.map(({ port }) => port),
        );
      for (const service of SERVICES) {
        const environment = environmentOf(service);
        const store =
          environment['S3_BUCKET'] === undefined ? undefined : (environment['S3_ENDPOINT'] ?? 'https://s3');
        const urls = [...URL_VARIABLES.map((name) => environment[name]), store].filter(
          (url) => url !== undefined,
        );
        const needed = urls
          .map((url) => new URL(url))
          .map(({ port, protocol }) => Number(port) || PORTS[protocol]);
        expect(portsOut(service)).toEqual(expect.arrayContaining(needed));
      }
    });

    test('gives pods no rights', () => {
      for (const workload of WORKLOADS.flatMap(of)) {
        const pod = podOf(workload)?.spec;
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
      const jobs = of('Job').filter(({ metadata }) => metadata.name.endsWith('-migration'));
      const migrated = given.migrations?.hook.enabled === false ? [] : SERVICES;
      expect(jobs.map(({ metadata }) => metadata.name).sort()).toEqual(
        migrated.map((service) => `${prefix}-${service}-migration`).sort(),
      );
      for (const service of migrated) {
        const job = one('Job', `${prefix}-${service}-migration`);
        const policy = one('NetworkPolicy', `${prefix}-${service}-migration`);
        for (const { metadata } of [job, policy])
          expect(metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade');
        const labels = job.spec.template?.metadata.labels;
        expect(labels).toMatchObject(policy.spec.podSelector?.matchLabels ?? { none: 'none' });
        for (const { spec } of of('Service')) expect(labels).not.toMatchObject(spec.selector ?? {});
        expect(policy.spec.ingress ?? []).toEqual([]);
        const database = new URL(environmentOf(service)['DATABASE_URL'] ?? '');
        const { env, extraEnv, extraEgress } = givenTo(service);
        expect(policy.spec.egress?.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([
          53,
          53,
          Number(database.port) || PORTS[database.protocol],
          ...extraEgress.flatMap(({ ports }) => ports.map(({ port }) => port)),
        ]);
        const pod = job.spec.template?.spec;
        expect(pod?.serviceAccountName).toBe(
          one('Deployment', `${prefix}-${service}`).spec.template?.spec.serviceAccountName,
        );
        const [container] = pod?.containers ?? [];
        const names = [...Object.keys(env), ...extraEnv.map(({ name }) => name), 'DATABASE_URL'];
        if (given.caBundle !== undefined) names.push('NODE_EXTRA_CA_CERTS');
        const expected = containerOf(service).env?.filter((variable) => names.includes(variable.name)) ?? [];
        expect(container?.env).toHaveLength(names.length);
        expect(container?.env).toEqual(expect.arrayContaining(expected));
        expect(container?.args).toEqual([service, 'migrate']);
      }
    });

    test('has no secret in it', () => {
      expect(of('Secret')).toEqual([]);
      const rendered = JSON.stringify(resources);
      for (const content of secrets.values())
        for (const secret of Object.values(content)) expect(rendered).not.toContain(secret);
    });

    test('brings along the servers that the Secrets name, if any', () => {
      const servers = of('StatefulSet').map(({ metadata }) => metadata.name);
      expect(servers).toEqual(given.dev?.enabled ? ['nats', 'postgres'] : []);
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
      const { prometheusRule, dashboard: wantedDashboard } = given.metrics ?? {};
      const page = prometheusRule?.runbookUrl ?? 'docs/operations/observe.md';
      const linked = alerts?.replaceAll('docs/operations/observe.md#', `${page}#`) ?? '';
      const wantedRules = prometheusRule?.enabled ? [parse(linked)] : [];
      expect(of('PrometheusRule').map(({ spec }) => spec)).toEqual(wantedRules);
      const shown = of('ConfigMap').filter(({ metadata }) => metadata.labels?.['grafana_dashboard'] === '1');
      expect(shown.map(({ data }) => JSON.parse(data?.['knowledge-repository.json'] ?? ''))).toEqual(
        wantedDashboard?.enabled ? [JSON.parse(dashboard ?? '')] : [],
      );
    });

    test('traces the share of requests in the values', () => {
      const told = Object.entries(environmentOf('records')).filter(([variable]) =>
        /^OTEL_.*TRACES/.test(variable),
      );
      expect(Object.fromEntries(told)).toEqual(
        given.tracing === undefined
          ? {}
          : {
              OTEL_TRACES_EXPORTER: 'otlp',
              OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces',
              OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
              OTEL_TRACES_SAMPLER_ARG: String(given.tracing.ratio ?? 0.1),
            },
      );
    });
  });

  if ('missing' in schemas) test.skip(`its resources are valid (${schemas.missing})`, () => {});
  else
    test(`its resources are valid in Kubernetes ${KUBERNETES_VERSIONS.join(', ')}`, async () => {
      expect(new Set(rendered.map(({ file }) => file))).toEqual(new Set(VALUES_FILES));
      // Most resources are the same with several values files.
      const different = new Map(rendered.map((one) => [JSON.stringify(one.resource), one]));
      const ofKubernetes = [...different.values()].filter(
        ({ resource }) => !CUSTOM_KINDS.includes(resource.kind),
      );
      expect(await schemas.findProblems(ofKubernetes, KUBERNETES_VERSIONS)).toBe('');
    });
}
