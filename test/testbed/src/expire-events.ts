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

/** Expires all events of a stream now, as if weeks had passed. */
export async function expireEvents(connection: Requester, stream = 'KNOWLEDGE'): Promise<void> {
  const call = async (what: 'INFO' | 'UPDATE', payload?: object): Promise<StreamReply> => {
    const answer = await connection.request(
      `$JS.API.STREAM.${what}.${stream}`,
      payload && JSON.stringify(payload),
    );
    const reply = JSON.parse(answer.string()) as StreamReply;
    if (reply.error !== undefined) throw new Error(reply.error.description);
    return reply;
  };
  const { config } = await call('INFO');
  await call('UPDATE', { ...config, max_age: SHORTEST_NS, duplicate_window: SHORTEST_NS });
  await until(async () => (await call('INFO')).state.messages === 0);
  await call('UPDATE', config);
}
