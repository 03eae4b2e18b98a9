import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { logVariables, serviceVariables } from './service-variables.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const PAGE = readFileSync(resolve(ROOT, 'docs/operations.md'), 'utf8');
/** Of Node, of OpenTelemetry, of a shell that is shown, and names that are no variables. */
const OTHERS = /^(OTEL_.*|SERVER|SERVICE|SUPERUSER_URL|KNOWLEDGE|SIGTERM)$/;

test('the log lines that docs/operations.md explains are logged', () => {
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

test('the variables that docs/operations.md names are read', () => {
  const known = [...[...serviceVariables().values()].flat(), ...logVariables()].map(({ name }) => name);
  const named = [...PAGE.matchAll(/`([A-Z][A-Z0-9_]+)(?:=[^`]*)?`/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !known.includes(name) && !OTHERS.test(name))).toEqual([]);
});
