import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { metrics } from '@opentelemetry/api';
import { observeGauges } from './measures.ts';

const METER = '@kr/telemetry';

const GAUGES = {
  build: { name: 'build_info', description: 'Always 1; the labels identify the running version.' },
  resident: {
    name: 'process_resident_memory_bytes',
    description: 'Resident memory of the process.',
    unit: 'By',
  },
  heapLimit: {
    name: 'nodejs_heap_limit_bytes',
    description: 'Heap limit of JavaScript objects; the process ends when it is exceeded.',
    unit: 'By',
  },
  started: {
    name: 'process_start_time_seconds',
    description: 'Start of the process, in seconds since 1970.',
    unit: 's',
  },
} as const;

/** Metrics of the process that `@opentelemetry/instrumentation-runtime-node` does not have. */
export function observeProcess(serviceName: string, script: string): void {
  const build = { service: serviceName, version: versionOf(script), node_version: process.versions.node };
  const startedAt = Math.round(performance.timeOrigin) / 1_000;
  observeGauges({
    meter: METER,
    gauges: GAUGES,
    read: () => [
      { of: 'build', value: 1, attributes: build },
      { of: 'resident', value: process.memoryUsage.rss() },
      { of: 'heapLimit', value: getHeapStatistics().heap_size_limit },
      { of: 'started', value: startedAt },
    ],
  });
  metrics
    .getMeter(METER)
    .createObservableCounter('process_cpu_seconds', {
      description: 'CPU time used by the process.',
      unit: 's',
    })
    .addCallback((result) => {
      const { user, system } = process.cpuUsage();
      result.observe((user + system) / 1e6);
    });
}

/** Of the service that the script belongs to; empty where there is none. */
function versionOf(script: string): string {
  try {
    const { version } = JSON.parse(readFileSync(join(dirname(script), '../package.json'), 'utf8'));
    return typeof version === 'string' ? version : '';
  } catch {
    return '';
  }
}
