import { isDeepStrictEqual } from 'node:util';
import type { ServiceName } from '@kr/local-stack';
import type { Variable } from '@kr/service-config';

const HEAD = `# Configuration

Every variable that the services read from their environment, written by \`npm run deploy -- configuration\` from the code
that reads them; a test keeps it so. An empty variable counts as unset. What is wrong, or missing, ends a start at once with
all problems named.

- **required** ones have no default; *secret* ones belong into a secret store, and no message ever shows their value.
- Bytes and milliseconds are whole numbers without a unit or separators.
- Limits that a caller can meet are named in the answer that refuses.
`;

const TELEMETRY = `
The standard variables of OpenTelemetry (\`OTEL_…\`) configure traces and metrics. Neither is measured or sent
unless \`OTEL_TRACES_EXPORTER\` or \`OTEL_METRICS_EXPORTER\` names an exporter, or an
\`OTEL_EXPORTER_OTLP_…ENDPOINT\` is set. Logs are written to standard output only.
`;

export interface Documented {
  services: ReadonlyMap<ServiceName, readonly Variable[]>;
  ofEveryProcess: readonly Variable[];
  /** Those that read `FAILPOINT`. */
  withFailpoints: readonly ServiceName[];
}

/** The page of all variables, in Markdown. */
export function configurationPage({ services, ofEveryProcess, withFailpoints }: Documented): string {
  const [first = [], ...others] = services.values();
  const isEverywhere = (variable: Variable) =>
    others.every((list) => list.some((one) => isDeepStrictEqual(one, variable)));
  const everywhere = first.filter(isEverywhere);
  const names = new Set(everywhere.map(({ name }) => name));
  const own = [...services].map(([service, variables]) =>
    section(
      service,
      variables.filter(({ name }) => !names.has(name)),
    ),
  );
  const shared = section('Every service', [...everywhere, ...ofEveryProcess]);
  return [HEAD, shared, TELEMETRY, failpoints(withFailpoints), ...own].join('');
}

function failpoints(services: readonly ServiceName[]): string {
  const names = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(services);
  return `\n\`FAILPOINT\` ends a process of ${names} at a chosen line; it is for tests and stays unset.\n`;
}

function section(title: string, variables: readonly Variable[]): string {
  const rows = variables.map((variable) => `| ${row(variable).join(' | ')} |\n`);
  return `\n## ${title}\n\n| variable | meaning | value | default |\n|---|---|---|---|\n${rows.join('')}`;
}

function row(variable: Variable): string[] {
  return [
    `\`${variable.name}\``,
    [variable.doc, condition(variable)].filter(Boolean).join('; '),
    variable.isSecret ? `*secret* ${takes(variable)}` : takes(variable),
    variable.isRequired ? '**required**' : fallbackOf(variable),
  ].map((cell) => cell.replaceAll('|', '\\|'));
}

function condition({ when }: Variable): string {
  if (when.length === 0) return '';
  const parts = when.map(
    ({ name, value }) => `\`${name}\` is ${value === undefined ? 'set' : `\`${value}\``}`,
  );
  return `read where ${parts.join(' and ')}`;
}

function takes({ kind, range, values }: Variable): string {
  if (range !== undefined) return `${range.min} to ${range.max}`;
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ');
  if (kind === 'list') return 'list, by commas';
  return kind === 'secret' || kind === 'named secrets' ? 'from 32 characters' : kind;
}

function fallbackOf({ fallback }: Variable): string {
  const text = Array.isArray(fallback) ? fallback.join(',') : String(fallback ?? '');
  return text === '' ? '–' : `\`${text}\``;
}
