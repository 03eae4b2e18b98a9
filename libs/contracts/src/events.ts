import type {
  AccessLinkChanged,
  AccessLinkChanged__Output,
  DraftDeleted,
  DraftDeleted__Output,
  DraftSaved,
  DraftSaved__Output,
  EntityChanged,
  EntityChanged__Output,
  FileEntryChanged,
  FileEntryChanged__Output,
  PackagePublished,
  PackagePublished__Output,
  PackageResourcesChanged,
  PackageResourcesChanged__Output,
  RecordPublished,
  RecordPublished__Output,
} from './gen/messages.ts';
import { type MessageCodec, messageCodec } from './message-codec.ts';

/** Every event of the system: its subject and, of its payload, what is sent and what is received. */
export interface Events {
  'knowledge.records.draft.saved': { sent: DraftSaved; received: DraftSaved__Output };
  'knowledge.records.draft.deleted': { sent: DraftDeleted; received: DraftDeleted__Output };
  'knowledge.records.record.published': { sent: RecordPublished; received: RecordPublished__Output };
  'knowledge.records.record.changed': { sent: EntityChanged; received: EntityChanged__Output };
  'knowledge.records.record.purged': { sent: EntityChanged; received: EntityChanged__Output };
  'knowledge.packages.draft.saved': { sent: DraftSaved; received: DraftSaved__Output };
  'knowledge.packages.draft.deleted': { sent: DraftDeleted; received: DraftDeleted__Output };
  'knowledge.packages.package.published': { sent: PackagePublished; received: PackagePublished__Output };
  'knowledge.packages.package.changed': { sent: EntityChanged; received: EntityChanged__Output };
  'knowledge.packages.package.purged': { sent: EntityChanged; received: EntityChanged__Output };
  'knowledge.packages.resources.changed': {
    sent: PackageResourcesChanged;
    received: PackageResourcesChanged__Output;
  };
  'knowledge.files.entry.started': { sent: FileEntryChanged; received: FileEntryChanged__Output };
  'knowledge.files.entry.completed': { sent: FileEntryChanged; received: FileEntryChanged__Output };
  'knowledge.files.entry.deleted': { sent: FileEntryChanged; received: FileEntryChanged__Output };
  'knowledge.access-links.link.created': { sent: AccessLinkChanged; received: AccessLinkChanged__Output };
  'knowledge.access-links.link.changed': { sent: AccessLinkChanged; received: AccessLinkChanged__Output };
  'knowledge.access-links.link.revoked': { sent: AccessLinkChanged; received: AccessLinkChanged__Output };
}

export type EventSubject = keyof Events;
/** A payload to send; fields left out have their defaults. */
export type EventInput<Subject extends EventSubject> = Events[Subject]['sent'];
/** A payload as received: every field present. */
export type EventPayload<Subject extends EventSubject> = Events[Subject]['received'];

export type EventCodecs = {
  readonly [Subject in EventSubject]: MessageCodec<EventInput<Subject>, EventPayload<Subject>>;
};

/** How the payload of each subject becomes bytes and is read back. */
export const eventCodecs: EventCodecs = {
  'knowledge.records.draft.saved': messageCodec('knowledge.events.v1.DraftSaved'),
  'knowledge.records.draft.deleted': messageCodec('knowledge.events.v1.DraftDeleted'),
  'knowledge.records.record.published': messageCodec('knowledge.events.v1.RecordPublished'),
  'knowledge.records.record.changed': messageCodec('knowledge.events.v1.EntityChanged'),
  'knowledge.records.record.purged': messageCodec('knowledge.events.v1.EntityChanged'),
  'knowledge.packages.draft.saved': messageCodec('knowledge.events.v1.DraftSaved'),
  'knowledge.packages.draft.deleted': messageCodec('knowledge.events.v1.DraftDeleted'),
  'knowledge.packages.package.published': messageCodec('knowledge.events.v1.PackagePublished'),
  'knowledge.packages.package.changed': messageCodec('knowledge.events.v1.EntityChanged'),
  'knowledge.packages.package.purged': messageCodec('knowledge.events.v1.EntityChanged'),
  'knowledge.packages.resources.changed': messageCodec('knowledge.events.v1.PackageResourcesChanged'),
  'knowledge.files.entry.started': messageCodec('knowledge.events.v1.FileEntryChanged'),
  'knowledge.files.entry.completed': messageCodec('knowledge.events.v1.FileEntryChanged'),
  'knowledge.files.entry.deleted': messageCodec('knowledge.events.v1.FileEntryChanged'),
  'knowledge.access-links.link.created': messageCodec('knowledge.events.v1.AccessLinkChanged'),
  'knowledge.access-links.link.changed': messageCodec('knowledge.events.v1.AccessLinkChanged'),
  'knowledge.access-links.link.revoked': messageCodec('knowledge.events.v1.AccessLinkChanged'),
};

/** Every subject there is. */
export const SUBJECTS: readonly EventSubject[] = Object.keys(eventCodecs).filter(isEventSubject);

/** Type guard for subjects received over the bus. */
export function isEventSubject(subject: string): subject is EventSubject {
  return Object.hasOwn(eventCodecs, subject);
}
