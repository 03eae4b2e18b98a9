import type { Answer, HttpClient, Sent } from '../e2e/story/http-client.ts';
import type { Outcome, Recorder, Seen } from '../history/history.ts';

/** Metadata of an entity that identifies, in every read, its publication and edits. */
export function numbered({ publication, edits }: { publication: number; edits: readonly number[] }) {
  return { version: String(publication), subjects: edits.map((edit) => ({ subject: String(edit) })) };
}

/** The number and edits in {@link numbered} metadata. */
export function toldBy({ metadata }: { metadata: Record<string, unknown> }): Exclude<Seen, 'absent'> {
  const subjects = (metadata['subjects'] ?? []) as { subject: string }[];
  return {
    publication: Number(metadata['version'] ?? 0),
    values: subjects.map(({ subject }) => Number(subject)),
  };
}

/** Outcome of a call; no answer is `undefined`. Unknown answers are an error of the system. */
type Meaning = (answer: Answer<unknown>) => Outcome | undefined;

export interface Witness {
  /**
   * Reads an entity by its path below `/api`. It is named in the history by `entity`.
   */
  read(entity: string, path: string, form: 'draft' | 'published'): Promise<Answer<unknown> | undefined>;
  /** Adds an edit by a request that puts the whole draft. */
  append(entity: string, value: number, path: string, sent: Sent): Promise<Answer<unknown> | undefined>;
  publish(
    publication: number,
    entities: readonly string[],
    path: string,
  ): Promise<Answer<unknown> | undefined>;
}

/** A client that writes down what it does and sees. `unforeseen` takes what no client should ever be answered. */
export function witness(
  http: HttpClient,
  client: number,
  { recorder, unforeseen }: { recorder: Recorder; unforeseen: string[] },
): Witness {
  const call = async (
    asked: Parameters<Recorder['record']>[1],
    method: string,
    path: string,
    sent: Sent,
    meaning: Meaning,
  ): Promise<Answer<unknown> | undefined> => {
    let answer: Answer<unknown> | undefined;
    await recorder.record(client, asked, async () => {
      answer = await http.call(method, path, sent).catch(() => undefined);
      if (answer === undefined || answer.status === 503) return { type: 'info' };
      const outcome = meaning(answer);
      if (outcome !== undefined) return outcome;
      unforeseen.push(`${method} ${path}: ${answer.status} ${answer.text}`);
      return { type: 'info' };
    });
    return answer;
  };
  return {
    read: (entity, path, form) => call({ do: 'read', entity, form }, 'GET', path, {}, seen),
    append: (entity, value, path, sent) =>
      call({ do: 'append', entity, value }, 'PUT', path, sent, changed([404, 409, 412])),
    publish: (publication, entities, path) =>
      call({ do: 'publish', publication, entities }, 'POST', path, {}, changed([400, 404, 409, 412])),
  };
}

const seen: Meaning = ({ status, body }) => {
  if (status === 404) return { type: 'ok', seen: 'absent' };
  return status === 200 ? { type: 'ok', seen: toldBy(body as Parameters<typeof toldBy>[0]) } : undefined;
};

const changed =
  (refusals: readonly number[]): Meaning =>
  ({ status }) => {
    if (status < 300) return { type: 'ok' };
    return refusals.includes(status) ? { type: 'fail' } : undefined;
  };
