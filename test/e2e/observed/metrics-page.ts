import { SERVICES } from '@kr/local-stack';
import type { ScrapedMetric } from './scraped-metrics.ts';

/**
 * The table of `docs/metrics.md`, from the services' own output. Metrics that only some services have may be
 * absent: the page keeps their rows.
 */
export function metricsTable(metrics: readonly ScrapedMetric[], page: string): string {
  const rows = metrics.map(({ name, type, labels, services, description }) =>
    [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(', '),
      shownBy(services, page, name),
      description,
    ]
      .join(' | ')
      .replaceAll('|  |', '| |'),
  );
  return [
    '| metric | type | labels | services | |',
    '|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n');
}

function shownBy(services: readonly string[], page: string, metric: string): string {
  const row = page.split('\n').find((line) => line.startsWith(`| \`${metric}\` |`)) ?? '';
  const named = row.split(' | ').flatMap((cell) => (cell === 'all' ? SERVICES : cell.split(', ')));
  const all = SERVICES.filter((service) => services.includes(service) || named.includes(service));
  return all.length === SERVICES.length ? 'all' : all.sort().join(', ');
}
