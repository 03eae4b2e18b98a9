import { type Attributes, metrics } from '@opentelemetry/api';

/** What is measured, in words for those who read it. */
export interface Measure {
  readonly name: string;
  readonly description: string;
  /** UCUM, such as `s`. */
  readonly unit?: string;
}

export type Count = (attributes?: Attributes) => void;
export type Record = (value: number, attributes?: Attributes) => void;

/** From a publish on a quiet machine to one that waits for everything it may wait for. */
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Counts what happened. Nothing is kept while no exporter is configured. */
export function counter(meter: string, { name, ...about }: Measure): Count {
  const instrument = metrics.getMeter(meter).createCounter(name, about);
  return (attributes) => instrument.add(1, attributes);
}

/** Spreads durations, in seconds, over buckets. */
export function durations(meter: string, { name, ...about }: Omit<Measure, 'unit'>): Record {
  const instrument = metrics.getMeter(meter).createHistogram(name, {
    ...about,
    unit: 's',
    advice: { explicitBucketBoundaries: SECONDS },
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
  /** Asked once for each collection, and never while no exporter is configured. */
  read(): Promise<readonly Reading<Name>[]>;
  /** Told when it could not be read; that collection goes without. */
  failed(cause: unknown): void;
}

/** Reads gauges whenever metrics are collected, all of them by one question. */
export function observeGauges<Name extends string>({
  meter: meterName,
  gauges,
  read,
  failed,
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
      for (const { of, value, attributes } of await read()) {
        const instrument = instruments.get(of);
        if (instrument !== undefined) result.observe(instrument, value, attributes);
      }
    } catch (cause) {
      failed(cause);
    }
  };
  meter.addBatchObservableCallback(observe, observed);
  return { stop: () => meter.removeBatchObservableCallback(observe, observed) };
}
