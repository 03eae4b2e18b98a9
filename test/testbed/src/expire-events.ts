import { until } from './until.ts';

/** A connection to NATS, as far as it is needed here. */
interface Requester {
  request(subject: string, payload?: string): Promise<{ string(): string }>;
}

interface StreamReply {
  config: Readonly<Record<string, unknown>>;
  state: { messages: number };
  error?: { description: string };
}

const SHORTEST_NS = 100_000_000;

/** Lets all events of a stream come of age now, as if nobody had looked for weeks. */
export async function expireEvents(connection: Requester, stream = 'KNOWLEDGE'): Promise<void> {
  const ask = async (what: 'INFO' | 'UPDATE', payload?: object): Promise<StreamReply> => {
    const answer = await connection.request(
      `$JS.API.STREAM.${what}.${stream}`,
      payload && JSON.stringify(payload),
    );
    const reply = JSON.parse(answer.string()) as StreamReply;
    if (reply.error !== undefined) throw new Error(reply.error.description);
    return reply;
  };
  const { config } = await ask('INFO');
  await ask('UPDATE', { ...config, max_age: SHORTEST_NS, duplicate_window: SHORTEST_NS });
  await until(async () => (await ask('INFO')).state.messages === 0);
  await ask('UPDATE', config);
}
