import type { DeadLetter__Output } from '@kr/contracts';
import { CliError } from '../cli-error.ts';
import { callService, EVENT_CONSUMERS, type EventConsumer } from '../settings/call-as-operator.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminOptions } from './context.ts';

export interface DeadLetterOptions extends AdminOptions {
  /** Default: all services. */
  service?: EventConsumer;
}

interface Listed {
  service: EventConsumer;
  letter: DeadLetter__Output;
}

/** `kr admin dead-letters list`: events that a service could not handle, for each service the oldest first. */
export async function listDeadLetters(
  terminal: Terminal,
  { service, limit, json, dataDirs }: DeadLetterOptions & { limit: number },
): Promise<void> {
  const listed: Listed[] = [];
  const withMore: EventConsumer[] = [];
  for (const name of servicesOf(service)) {
    const { deadLetters, hasMore } = await callService('deadLetters', name, dataDirs, (client, caller) =>
      client.listDeadLetters({ afterId: '0', limit }, caller),
    );
    listed.push(...deadLetters.map((letter) => ({ service: name, letter })));
    if (hasMore) withMore.push(name);
  }
  if (json) {
    const output = { dead_letters: listed.map(letterJson), has_more: withMore.length > 0 };
    return terminal.print(JSON.stringify(output, null, 2));
  }
  if (listed.length === 0) return terminal.note('There are no dead letters.');
  for (const line of letterTable(listed)) terminal.print(line);
  if (withMore.length > 0)
    terminal.note(`More than ${limit} dead letters in ${withMore.join(', ')}; use --limit to list more.`);
}

/** `kr admin dead-letters replay [ID…]`: fails when an event failed again or an id is unknown. */
export async function replayDeadLetters(
  terminal: Terminal,
  ids: readonly string[],
  { service, all, json, dataDirs }: DeadLetterOptions & { all: boolean },
): Promise<void> {
  if (all === ids.length > 0) throw new CliError('Pass the ids of dead letters, or --all.');
  const wrong = ids.filter((id) => !/^\d{1,18}$/.test(id));
  if (wrong.length > 0) throw new CliError(`Not an id of a dead letter: ${wrong.join(', ')}`);
  if (ids.length > 0 && service === undefined)
    throw new CliError('Ids belong to one service: name it with --service.');
  let replayed = 0;
  let failed = 0;
  const failures: Listed[] = [];
  const unknownIds: string[] = [];
  for (const name of servicesOf(service)) {
    const answer = await callService('deadLetters', name, dataDirs, (client, caller) =>
      client.replayDeadLetters({ ids: [...ids] }, caller),
    );
    replayed += Number(answer.replayed);
    failed += Number(answer.failed);
    failures.push(...answer.failures.map((letter) => ({ service: name, letter })));
    unknownIds.push(...answer.unknownIds);
  }
  if (json) {
    const output = {
      replayed,
      failed,
      failures: failures.map(letterJson),
      unknown_ids: unknownIds.map(Number),
    };
    terminal.print(JSON.stringify(output, null, 2));
  } else {
    terminal.print(`${replayed} replayed, ${failed} failed again`);
    if (failed > 0) for (const line of letterTable(failures)) terminal.print(line);
  }
  if (unknownIds.length > 0) throw new CliError(`Unknown dead letters: ${unknownIds.join(', ')}`);
  if (failed > 0) throw new CliError(`${failed} failed again.`);
}

function servicesOf(service: EventConsumer | undefined): readonly EventConsumer[] {
  return service === undefined ? EVENT_CONSUMERS : [service];
}

function letterTable(listed: readonly Listed[]): string[] {
  return table([
    ['service', 'id', 'consumer', 'event', 'subject', 'tried', 'failed', 'reason'],
    ...listed.map(({ service, letter: { id, consumer, eventId, subject, deliveries, failedAt, reason } }) => [
      service,
      id,
      consumer,
      eventId,
      subject,
      String(deliveries),
      failedAt,
      reason.replaceAll(/\s+/g, ' '),
    ]),
  ]);
}

function letterJson({
  service,
  letter: { id, consumer, eventId, subject, deliveries, failedAt, reason },
}: Listed) {
  return {
    service,
    id: Number(id),
    consumer,
    event_id: eventId,
    subject,
    deliveries,
    failed_at: failedAt,
    reason,
  };
}
