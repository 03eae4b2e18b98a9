import { type EventPayload, type EventSubject, eventCodecs, type MessageCodec } from '@kr/contracts';
import type { Logger } from '@kr/telemetry';
import type { NatsConnection, Subscription } from '@nats-io/nats-core';
import type { BusConnection } from './bus-connection.ts';

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
  let subscribed: NatsConnection | undefined;
  let subscriptions: Subscription[] = [];

  const subscribe = (nats: NatsConnection, subject: Subject): Subscription => {
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
  };
  const resume = async (): Promise<void> => {
    const nats = await connection.whenUp(stopping.signal);
    // After an outage the library restores the subscriptions of a connection by itself.
    if (nats !== subscribed) subscriptions = subjects.map((subject) => subscribe(nats, subject));
    subscribed = nats;
    await nats.flush();
    onGap();
  };
  // When the connection is lost meanwhile, its return resumes the subscription.
  const start = () => void resume().catch(() => undefined);
  const unsubscribe = connection.onChange((isUp) => isUp && start());
  start();

  return {
    stop: async () => {
      unsubscribe();
      stopping.abort();
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}
