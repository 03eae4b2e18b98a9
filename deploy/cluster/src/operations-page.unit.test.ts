import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { logVariables, serviceVariables } from './service-variables.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const PAGE = globSync('docs/operations/*.md', { cwd: ROOT })
  .map((path) => readFileSync(resolve(ROOT, path), 'utf8'))
  .join('\n');
const OBSERVE = readFileSync(resolve(ROOT, 'docs/operations/observe.md'), 'utf8');
/** Variables of Node, OpenTelemetry and shell examples, and names that are no variables. */
const OTHERS = /^(OTEL_.*|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|SERVER|SERVICE|SUPERUSER_URL|KNOWLEDGE|SIGTERM)$/;

test('the log lines that docs/operations explains are logged', () => {
  const table = /\| alarm \|[^\n]*\n([\s\S]*?)\n\n/.exec(PAGE)?.[1] ?? '';
  const causes = table.split('\n').map((row) => row.split(' | ')[0] ?? '');
  const quoted = causes.flatMap((cause) => cause.split('`').filter((_, index) => index % 2 === 1));
  const lines = quoted.filter((text) => text.includes(' '));
  expect(lines.length).toBeGreaterThan(5);
  const sources = globSync('{services,libs}/*/src/**/*.ts', { cwd: ROOT })
    .filter((path) => !path.includes('/gen/') && !path.endsWith('.test.ts'))
    .map((path) => readFileSync(resolve(ROOT, path), 'utf8'))
    .join('\n');
  expect(lines.filter((line) => !sources.includes(`'${line}'`))).toEqual([]);
});

test('the variables that docs/operations names are read', () => {
  const known = [...[...serviceVariables().values()].flat(), ...logVariables()].map(({ name }) => name);
  const named = [...PAGE.matchAll(/`([A-Z][A-Z0-9_]+)(?:=[^`]*)?`/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !known.includes(name) && !OTHERS.test(name))).toEqual([]);
});

interface Alert {
  alert: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook_url: string };
}

const ALERTS = 'deploy/helm/knowledge-repository/observability/alerts.yaml';

test('every alert is explained, under its name and with its severity, and nothing else is', () => {
  const { groups } = parse(readFileSync(resolve(ROOT, ALERTS), 'utf8')) as { groups: { rules: Alert[] }[] };
  const alerts = groups.flatMap(({ rules }) => rules);
  const [, chapter = ''] = /\n## Alerts\n([\s\S]*)$/.exec(OBSERVE) ?? [];
  const sections = chapter.split(/^### /m).slice(1);
  const explained = sections.map((section) => ({
    name: section.split('\n')[0],
    isCritical: section.includes('\n*Critical.*'),
    isLong: section.length > 150,
  }));
  expect(explained).toEqual(
    alerts.map(({ alert, labels }) => ({
      name: alert,
      isCritical: labels.severity === 'critical',
      isLong: true,
    })),
  );
  expect(new Set(alerts.map(({ labels }) => labels.severity))).toEqual(new Set(['critical', 'warning']));
  for (const { alert, annotations } of alerts) {
    expect(alert).toMatch(/^KnowledgeRepository[A-Z]/);
    expect(annotations.runbook_url).toBe(`docs/operations/observe.md#${alert.toLowerCase()}`);
  }
  const undescribed = alerts.filter(({ annotations }) => !annotations.summary || !annotations.description);
  expect(undescribed).toEqual([]);
});

test('the dashboard names alerts that there are, and the page panels that there are', () => {
  const dashboard = readFileSync(resolve(ROOT, ALERTS, '../dashboard.json'), 'utf8');
  const { panels } = JSON.parse(dashboard) as { panels: { title: string; description?: string }[] };
  const alerts = readFileSync(resolve(ROOT, ALERTS), 'utf8');
  const named = panels.flatMap(({ description = '' }) =>
    [...description.matchAll(/[Aa]lerts? (\w+)(?: and (\w+))?/g)].flatMap(([, ...names]) =>
      names.filter(Boolean),
    ),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !alerts.includes(`alert: ${name}\n`))).toEqual([]);
  const shown = [
    'Failing routes',
    'Failed calls',
    'Slowest routes',
    'Slowest calls',
    'Statements',
    'Size of the outboxes',
  ];
  expect(shown.filter((title) => !PAGE.includes(`*${title}*`))).toEqual([]);
  expect(shown.filter((title) => !panels.some((panel) => panel.title.startsWith(title)))).toEqual([]);
});
