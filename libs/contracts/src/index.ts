export { type Definitions, definitions } from './definitions.ts';
export { errorDetailCodec } from './error-detail-codec.ts';
export {
  type EventCodecs,
  type EventInput,
  type EventPayload,
  type EventSubject,
  type Events,
  eventCodecs,
  isEventSubject,
  SUBJECTS,
} from './events.ts';
export { FORM_NAMES, formOf } from './form.ts';
export type * from './gen/messages.ts';
export type { MessageCodec } from './message-codec.ts';
export { timestamp } from './timestamp.ts';
