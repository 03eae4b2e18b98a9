import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { recordBody } from '../scenarios/deposit.ts';
import { sendFile } from './send-file.ts';

/** Carries bytes to and from one system; throws on anything but a 2xx. Sizes are in bytes. */
export interface ByteClient {
  /** A file of a new draft that waits for its bytes; the path of its address. */
  newFile(): Promise<string>;
  /** @param source a file, or the bytes */
  put(file: string, source: string | Iterable<Uint8Array>, size: number): Promise<void>;
  /** By tus, in chunks. */
  resume(file: string, source: string, size: number, chunkBytes: number): Promise<void>;
  /** Publishes the draft of a file that has its bytes; the path of its content then. */
  publish(file: string): Promise<string>;
  /** Reads and drops what is there; how much that was. */
  drain(url: string): Promise<number>;
  close(): void;
}

const CHUNK_TYPE = 'application/offset+octet-stream';

export function byteClient(baseUrl: string, token: string): ByteClient {
  const agent = new Agent({ keepAlive: true });

  async function send(
    method: string,
    path: string,
    headers: Record<string, string | number> = {},
    body?: string | ((target: Writable) => Promise<void>),
  ): Promise<{ headers: IncomingHttpHeaders; text: string }> {
    const request = httpRequest(new URL(path, baseUrl), {
      agent,
      method,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    const answered = responseOf(request);
    const sending = typeof body === 'function' ? body(request) : request.end(body);
    const response = await answered;
    let text = '';
    for await (const chunk of response) text += chunk;
    if ((response.statusCode ?? 500) >= 300)
      throw new Error(`${method} ${path} answered ${response.statusCode}: ${text}`);
    await sending;
    return { headers: response.headers, text };
  }

  const sendJson = async (path: string, json?: unknown): Promise<unknown> => {
    const headers = json === undefined ? {} : { 'content-type': 'application/json' };
    const { text } = await send('POST', path, headers, json === undefined ? undefined : JSON.stringify(json));
    return JSON.parse(text);
  };

  return {
    newFile: async () => {
      const body = { ...(recordBody('With a file') as object), files: { enabled: true } };
      const { id } = (await sendJson('/api/records', body)) as { id: string };
      const files = `/api/records/${id}/draft/files`;
      await sendJson(files, [{ key: 'data.bin' }]);
      return `${files}/data.bin`;
    },
    put: async (file, source, size) => {
      await send(
        'PUT',
        `${file}/content`,
        { 'content-type': 'application/octet-stream', 'content-length': size },
        (target) =>
          typeof source === 'string'
            ? sendFile(source, { start: 0, bytes: size }, target)
            : pipeline(source, target),
      );
    },
    resume: async (file, source, size, chunkBytes) => {
      const tus = { 'tus-resumable': '1.0.0' };
      const { headers } = await send('POST', `${file}/tus`, { ...tus, 'upload-length': size });
      const upload = headers.location ?? '';
      for (let offset = 0; offset < size; offset += chunkBytes) {
        const length = Math.min(chunkBytes, size - offset);
        const told = {
          ...tus,
          'content-type': CHUNK_TYPE,
          'content-length': length,
          'upload-offset': offset,
        };
        await send('PATCH', upload, told, (target) =>
          sendFile(source, { start: offset, bytes: length }, target),
        );
      }
    },
    publish: async (file) => {
      await sendJson(`${file}/commit`);
      const [draft = '', key = ''] = file.split('/files/');
      await sendJson(`${draft}/actions/publish`);
      return `${draft.replace(/\/draft$/, '')}/files/${key}/content`;
    },
    drain: async (url) => {
      const request = httpRequest(new URL(url, baseUrl), { agent });
      const answered = responseOf(request);
      request.end();
      const response = await answered;
      let bytes = 0;
      for await (const chunk of response) bytes += (chunk as Buffer).length;
      if (response.statusCode !== 200) throw new Error(`GET ${url} answered ${response.statusCode}`);
      return bytes;
    },
    close: () => agent.destroy(),
  };
}

function responseOf(request: ReturnType<typeof httpRequest>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
}
