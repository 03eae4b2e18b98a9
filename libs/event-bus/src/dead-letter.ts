import type { Sql } from '@kr/database';
import type { JsMsg } from '@nats-io/jetstream';

import { eventIdOf } from './cloud-event.ts';

const INSERT = `
  insert into dead_letter (consumer, event_id, subject, payload, headers, deliveries, reason)
  values ($1, $2, $3, decode($4, 'base64'), $5::jsonb, $6::int, $7)
  on conflict (consumer, event_id)
    do update set deliveries = excluded.deliveries, reason = excluded.reason, failed_at = excluded.failed_at`;

/** Stores a message that its consumer failed to handle, unchanged. */
export async function insertDeadLetter(
  database: Sql,
  consumer: string,
  message: JsMsg,
  reason: string,
): Promise<void> {
  const headers = Object.fromEntries(
    (message.headers?.keys() ?? []).map((name) => [
      storable(name),
      storable(message.headers?.get(name) ?? ''),
    ]),
  );
  await database.$executeRawUnsafe(
    INSERT,
    consumer,
    eventIdOf(message),
    message.subject,
    Buffer.from(message.data).toString('base64'),
    JSON.stringify(headers),
    message.info.deliveryCount,
    reason,
  );
}

/** The stored description of a failure. */
export function reasonOf(error: unknown): string {
  return storable((error instanceof Error ? error.message : String(error)).slice(0, 2_000));
}

/** Postgres has no null characters in texts. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}
