export { appendEvents, eventRows, insertEvents, type SqlExecutor } from './append-events.ts';
export { type BusConnection, type BusConnectionOptions, connectBus } from './bus-connection.ts';
export { claimEvents, type SqlQuerier } from './claim-events.ts';
export { ensureStream, STREAM, type StreamSettings } from './ensure-stream.ts';
export { MIGRATIONS } from './migrations.ts';
export { newEvent, type OutboxEvent } from './new-event.ts';
export type { Wait } from './news.ts';
export { type OpenStream, openStream } from './open-stream.ts';
export { HAS_UNSENT } from './outbox-sent.ts';
export { type OverhearOptions, overhearEvents } from './overhear-events.ts';
export type { ReceivedEvent } from './received-event.ts';
export {
  type DeadLetter,
  listDeadLetters,
  type ReplayOptions,
  type ReplayReport,
  replayDeadLetters,
} from './replay-dead-letters.ts';
export { type Consumer, type ConsumerOptions, startConsumer } from './start-consumer.ts';
export { type Relay, type RelayOptions, startRelay } from './start-relay.ts';
