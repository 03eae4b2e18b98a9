/** One metric as services show it. */
export interface ScrapedMetric {
  name: string;
  type: string;
  description: string;
  labels: string[];
  /** The service that exports it. */
  services: string[];
}

const OF_A_HISTOGRAM = /_(bucket|sum|count)$/;
/** The labels of every sample, and those of histograms. */
const NO_LABEL_OF_OURS = /^(otel_scope_.*|le)$/;
const SAMPLE = /^(\w+)(?:\{(.*)\})? \S+/;

/** All metrics of the services' Prometheus endpoints, by name and in that order. */
export function scrapedMetrics(texts: ReadonlyMap<string, string>): ScrapedMetric[] {
  const found = new Map<string, ScrapedMetric>();
  for (const [service, text] of texts) {
    for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      const [, description = ''] = new RegExp(`^# HELP ${name} (.*)$`, 'm').exec(text) ?? [];
      const known = found.get(name) ?? { name, type, description, labels: [], services: [] };
      found.set(name, { ...known, services: [...known.services, service] });
    }
    for (const line of text.split('\n')) {
      const [, sample = '', labels = ''] = SAMPLE.exec(line) ?? [];
      const metric = found.get(sample) ?? found.get(sample.replace(OF_A_HISTOGRAM, ''));
      if (metric !== undefined) metric.labels = union(metric.labels, labelNames(labels));
    }
  }
  found.delete('target_info');
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function labelNames(labels: string): string[] {
  const names = [...labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, name = '']) => name);
  return names.filter((name) => !NO_LABEL_OF_OURS.test(name));
}

function union(some: readonly string[], others: readonly string[]): string[] {
  return [...new Set([...some, ...others])].sort();
}
