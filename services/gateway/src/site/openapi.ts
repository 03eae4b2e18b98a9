import { readFile } from 'node:fs/promises';
import { metadataJsonSchema } from '@kr/metadata';
import { type Endpoint, json } from '../http/endpoint.ts';

const SOURCE = new URL('../../openapi.yaml', import.meta.url);

interface Description {
  components: { schemas: { Metadata: object; PublishedMetadata: object } };
}

/** GET /api/openapi.yaml: the description of the interface. */
export function openapiYaml(): Endpoint {
  const text = once(async () => {
    const { stringify } = await import('yaml');
    return stringify(await describe());
  });
  return async () => ({ as: 'text', status: 200, type: 'application/yaml', text: await text() });
}

/** GET /api/openapi.json: the same, with this host as its server. */
export function openapiJson(): Endpoint {
  const description = once(describe);
  return async ({ baseUrl }) => json(200, { ...(await description()), servers: [{ url: baseUrl }] });
}

/** The written description with the metadata fields as the metadata schema has them. */
async function describe(): Promise<Description> {
  // Loaded at the first request: requests are rare, and the parser is large.
  const { parse } = await import('yaml');
  const written = parse(await readFile(SOURCE, 'utf8')) as Description;
  const { properties, required } = metadataJsonSchema('record');
  const { components } = written;
  const { schemas } = components;
  // Written out: generators of clients do not read `required` beside a reference.
  const typed = {
    Metadata: { ...schemas.Metadata, properties },
    PublishedMetadata: { ...schemas.PublishedMetadata, properties, required },
  };
  return { ...written, components: { ...components, schemas: { ...schemas, ...typed } } };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make().catch((cause: unknown) => {
      // A file that could not be read now may be readable later.
      made = undefined;
      throw cause;
    });
    return made;
  };
}
