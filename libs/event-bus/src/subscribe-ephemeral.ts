import { type EventPayload, type EventSubject, eventCodecs, type MessageCodec } from '@kr/contracts';
import type { Logger } from '@kr/telemetry';
import type { BusConnection } from './bus-connection.ts';
import { pause, waitAtMost } from './waiting.ts';

export interface EphemeralOptions<Subject extends EventSubject> {
  connection: BusConnection;
  subjects: readonly Subject[];
  onEvent: (payload: EventPayload<Subject>, subject: Subject) => void;
  /** Called each time the subscription starts or resumes: earlier events were missed. */
  onGap: () => void;
  logger: Logger;
}

/**
 * Delivers events to every subscribed process, without acknowledgement or redelivery. Only for caches that expire
 * anyway.
 */
export function subscribeEphemeral<Subject extends EventSubject>({
  connection,
  subjects,
  onEvent,
  onGap,
  logger,
}: EphemeralOptions<Subject>): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const unsubscribe = connection.onChange((isUp) => isUp && onGap());

  const listen = async () => {
    const nats = await connection.whenUp(stopping.signal);
    const subscriptions = subjects.map((subject) => {
      const codec: Pick<MessageCodec<never, EventPayload<Subject>>, 'decode'> = eventCodecs[subject];
      return nats.subscribe(subject, {
        callback: (failure, message) => {
          if (failure !== null) return;
          try {
            onEvent(codec.decode(message.data), subject);
          } catch (error) {
            logger.warn({ err: error, subject }, 'an event could not be read');
          }
        },
      });
    });
    try {
      await nats.flush();
      onGap();
      // After an outage the library subscribes again by itself.
      const stopped = new Promise<void>((resolve) =>
        stopping.signal.addEventListener('abort', () => resolve(), { once: true }),
      );
      await Promise.race([nats.closed(), stopped]);
    } finally {
      for (const subscription of subscriptions) subscription.unsubscribe();
    }
  };
  const keepListening = async () => {
    while (!stopping.signal.aborted) {
      await listen().catch(() => undefined);
      await pause(100, stopping.signal);
    }
  };
  const running = keepListening();

  return {
    stop: async () => {
      unsubscribe();
      stopping.abort();
      await waitAtMost(1_000, running);
    },
  };
}
