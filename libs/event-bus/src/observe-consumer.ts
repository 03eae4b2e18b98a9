import { counter, durations, type Logger, observeGauges } from '@kr/telemetry';
import type { ConsumerProgress } from './consumer-progress.ts';

const METER = '@kr/event-bus';

const GAUGES = {
  pending: {
    name: 'event_consumer_pending',
    description: 'Events that were not delivered to a consumer yet.',
  },
  unacknowledged: {
    name: 'event_consumer_unacknowledged',
    description: 'Events that were delivered to a consumer and not acknowledged.',
  },
  redelivered: {
    name: 'event_consumer_redelivered',
    description: 'Events that were delivered to a consumer more than once and not acknowledged.',
  },
  oldest: {
    name: 'event_consumer_oldest_seconds',
    description: 'Age of the oldest event that a consumer has not handled; 0 if it has handled all.',
    unit: 's',
  },
} as const;

const handling = durations(METER, {
  name: 'event_handling_seconds',
  description: 'Attempts to handle a batch of events.',
});
const OUTCOMES = ['done', 'retried', 'dead'] as const;

export type HandlingCounts = ReturnType<typeof observeConsumer>;

/**
 * Counts handled events and measures durations. The number of pending events is read from the bus: each process under its
 * name reports the same.
 */
export function observeConsumer(consumer: string, { lag }: Pick<ConsumerProgress, 'lag'>, logger: Logger) {
  const events = counter(
    METER,
    { name: 'events_handled', description: 'Handled events by outcome; retried ones are counted again.' },
    OUTCOMES.map((outcome) => ({ consumer, outcome })),
  );
  const gauges = observeGauges({
    meter: METER,
    gauges: GAUGES,
    onFailed: (err) => logger.debug({ err, durable: consumer }, 'the consumer could not be read'),
    read: async () => {
      const { oldest, ...counts } = await lag();
      const ageMs = oldest === undefined ? 0 : Math.max(0, Date.now() - oldest.getTime());
      const attributes = { consumer };
      return [
        { of: 'pending', value: counts.pending, attributes },
        { of: 'unacknowledged', value: counts.unacknowledged, attributes },
        { of: 'redelivered', value: counts.redelivered, attributes },
        { of: 'oldest', value: ageMs / 1_000, attributes },
      ];
    },
  });
  return {
    events: (outcome: (typeof OUTCOMES)[number], count: number) => events({ consumer, outcome }, count),
    /** Called when an attempt begins; call the result when it ends. */
    begin: () => {
      const started = performance.now();
      return (outcome: 'done' | 'failed') =>
        handling((performance.now() - started) / 1_000, { consumer, outcome });
    },
    stop: gauges.stop,
  };
}
