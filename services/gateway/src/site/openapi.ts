import { readFile } from 'node:fs/promises';
import { type Endpoint, json } from '../http/endpoint.ts';

const SOURCE = new URL('../../openapi.yaml', import.meta.url);

/** GET /api/openapi.yaml: the description of the interface as it is written. */
export function openapiYaml(): Endpoint {
  const text = once(() => readFile(SOURCE, 'utf8'));
  return async () => ({ as: 'text', status: 200, type: 'application/yaml', text: await text() });
}

/** GET /api/openapi.json: the same, with this host as its server. */
export function openapiJson(): Endpoint {
  const description = once(async () => {
    // Loaded when somebody asks: few do, and a parser is heavy.
    const { parse } = await import('yaml');
    return parse(await readFile(SOURCE, 'utf8')) as object;
  });
  return async ({ baseUrl }) => json(200, { ...(await description()), servers: [{ url: baseUrl }] });
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
