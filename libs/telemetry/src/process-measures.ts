import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { metrics } from '@opentelemetry/api';
import { observeGauges } from './measures.ts';

/** How finely the delay is watched, in milliseconds; each look wakes the process. */
const RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;
const METER = '@kr/telemetry';

const GAUGES = {
  build: { name: 'build_info', description: 'Always 1; the labels identify the running version.' },
  resident: {
    name: 'process_resident_memory_bytes',
    description: 'Memory that the process has of the machine.',
    unit: 'By',
  },
  heapUsed: {
    name: 'nodejs_heap_used_bytes',
    description: 'JavaScript objects, garbage included.',
    unit: 'By',
  },
  heapLimit: {
    name: 'nodejs_heap_limit_bytes',
    description: 'Heap limit of JavaScript objects; the process ends when it is exceeded.',
    unit: 'By',
  },
  started: {
    name: 'process_start_time_seconds',
    description: 'When the process began, in seconds since 1970.',
    unit: 's',
  },
  delay: {
    name: 'nodejs_event_loop_delay_seconds',
    description: 'How late timers were since the last collection, by quantile; 1 is the latest of all.',
    unit: 's',
  },
  utilization: {
    name: 'nodejs_event_loop_utilization_ratio',
    description: 'Share of the time since the last collection in which the process had something to do.',
  },
} as const;

/** Shows at each collection what the process is and how it is doing. */
export function observeProcess(serviceName: string, script: string): void {
  const build = { service: serviceName, version: versionOf(script), node_version: process.versions.node };
  const startedAt = Math.round(performance.timeOrigin) / 1_000;
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let lastLoop = performance.eventLoopUtilization();
  observeGauges({
    meter: METER,
    gauges: GAUGES,
    read: () => {
      // Counted are whole intervals between two looks, and only what is beyond the resolution is delay.
      const late = (percent: number) =>
        delay.count === 0 ? 0 : Math.max(0, delay.percentile(percent) / NANOSECONDS - RESOLUTION_MS / 1_000);
      const delays = ([50, 99, 100] as const).map((percent) => ({
        of: 'delay' as const,
        value: late(percent),
        attributes: { quantile: String(percent / 100) },
      }));
      delay.reset();
      const loop = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(loop, lastLoop);
      lastLoop = loop;
      const heap = getHeapStatistics();
      return [
        { of: 'build', value: 1, attributes: build },
        { of: 'resident', value: process.memoryUsage.rss() },
        { of: 'heapUsed', value: heap.used_heap_size },
        { of: 'heapLimit', value: heap.heap_size_limit },
        { of: 'started', value: startedAt },
        { of: 'utilization', value: utilization },
        ...delays,
      ];
    },
  });
  metrics
    .getMeter(METER)
    .createObservableCounter('process_cpu_seconds', { description: 'Processor time used.', unit: 's' })
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
