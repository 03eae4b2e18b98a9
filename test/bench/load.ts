/** Result of one round of load. Latencies in milliseconds. */
export interface Round {
  requests: number;
  failed: number;
  seconds: number;
  p50: number;
  p99: number;
  cpuMicrosecondsPerRequest: number;
}

interface Load {
  /** One request; throws if it failed. */
  request: () => Promise<void>;
  concurrency: number;
  /** Ends the round after a number of seconds, or of requests, whichever is first. */
  seconds: number;
  requests?: number;
  /** Processor time used so far by the side that is measured, in microseconds; not measured unless given. */
  cpu?: () => number;
}

/** Keeps `concurrency` requests under way until the round is over. */
export async function runRound({
  request,
  concurrency,
  seconds,
  requests = Number.POSITIVE_INFINITY,
  cpu = () => Number.NaN,
}: Load): Promise<Round> {
  const latencies: number[] = [];
  let failed = 0;
  let started = 0;
  const cpuBefore = cpu();
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const worker = async (): Promise<void> => {
    while (performance.now() < end && started < requests) {
      started += 1;
      const sent = performance.now();
      try {
        await request();
        latencies.push(performance.now() - sent);
      } catch {
        // Counted and shown beside the figures: a round with failures is not worth comparing.
        failed += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const elapsed = (performance.now() - begin) / 1000;
  const cpuUsed = cpu() - cpuBefore;
  latencies.sort((a, b) => a - b);
  return {
    requests: latencies.length,
    failed,
    seconds: elapsed,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    cpuMicrosecondsPerRequest: cpuUsed / Math.max(1, latencies.length),
  };
}

/** The value below which a share of the sorted values lies. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}
