import { type Attributes, metrics } from '@opentelemetry/api';

/** Description of a metric for its readers. */
export interface Measure {
  readonly name: string;
  readonly description: string;
  /** UCUM, such as `s`. */
  readonly unit?: string;
}

export type Count = (attributes?: Attributes, by?: number) => void;
export type Record = (value: number, attributes?: Attributes) => void;

/**
 * A counter. Nothing is recorded while no exporter is configured. `beforehand` lists known attribute values, which are
 * reported as 0 from the start, so that the first event is visible as a rise.
 */
export function counter(
  meter: string,
  { name, ...about }: Measure,
  beforehand: readonly Attributes[],
): Count {
  const instrument = metrics.getMeter(meter).createCounter(name, about);
  for (const attributes of beforehand) instrument.add(0, attributes);
  return (attributes, by = 1) => instrument.add(by, attributes);
}

/** Buckets of durations, in seconds: */
const BUCKETS = {
  /** of a request, a call or a statement, */
  answers: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  /** Work that may wait for other work, */
  steps: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  /** Transfers, limited by the caller's connection. */
  transfers: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14_400],
} as const;

export interface Durations extends Omit<Measure, 'unit'> {
  /** Expected duration; default `steps`. */
  readonly of?: keyof typeof BUCKETS;
}

/** Spreads durations, in seconds, over buckets. */
export function durations(meter: string, { name, description, of = 'steps' }: Durations): Record {
  const instrument = metrics.getMeter(meter).createHistogram(name, {
    description,
    unit: 's',
    advice: { explicitBucketBoundaries: [...BUCKETS[of]] },
  });
  return (value, attributes) => instrument.record(value, attributes);
}

export interface Reading<Name extends string> {
  readonly of: Name;
  readonly value: number;
  readonly attributes?: Attributes;
}

export interface ObserveOptions<Name extends string> {
  readonly meter: string;
  readonly gauges: Readonly<{ [Key in Name]: Measure }>;
  /** Called once per collection, and never while no exporter is configured. */
  read(): Promise<readonly Reading<Name>[]> | readonly Reading<Name>[];
  /** Called when reading fails; that collection has no value. */
  onFailed?(cause: unknown): void;
}

/** Reads gauges whenever metrics are collected, all of them by one question. */
export function observeGauges<Name extends string>({
  meter: meterName,
  gauges,
  read,
  onFailed = () => undefined,
}: ObserveOptions<Name>): { stop(): void } {
  const meter = metrics.getMeter(meterName);
  const instruments = new Map(
    Object.entries<Measure>(gauges).map(([key, { name, ...about }]) => [
      key,
      meter.createObservableGauge(name, about),
    ]),
  );
  const observed = [...instruments.values()];
  const observe: Parameters<typeof meter.addBatchObservableCallback>[0] = async (result) => {
    try {
      for (const { of, value, attributes } of await inTime(read)) {
        const instrument = instruments.get(of);
        if (instrument !== undefined) result.observe(instrument, value, attributes);
      }
    } catch (cause) {
      onFailed(cause);
    }
  };
  meter.addBatchObservableCallback(observe, observed);
  return { stop: () => meter.removeBatchObservableCallback(observe, observed) };
}

/** A reader that hangs would block the export of all other metrics. */
const READ_MS = 3_000;

async function inTime<Read>(read: () => Promise<Read> | Read): Promise<Read> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`could not be read within ${READ_MS} ms`)), READ_MS);
  });
  try {
    return await Promise.race([read(), tooLong]);
  } finally {
    clearTimeout(timer);
  }
}
