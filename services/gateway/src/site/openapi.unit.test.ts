import { describe, expect, test } from '@jest/globals';
import { metadataJsonSchema } from '@kr/metadata';
import { parse } from 'yaml';
import type { Call, JsonReply } from '../http/endpoint.ts';
import { realRoutes } from '../routes-fixture.ts';
import { openapiJson, openapiYaml } from './openapi.ts';

const call = { baseUrl: 'https://repository.example' } as Call;

describe('the served description of the interface', () => {
  test('has every metadata field, and this host as its server', async () => {
    const reply = await openapiJson(realRoutes)(call);
    expect(reply).toMatchObject({
      status: 200,
      body: {
        openapi: expect.stringMatching(/^3\.1/),
        servers: [{ url: 'https://repository.example' }],
        components: {
          schemas: {
            Metadata: {
              properties: {
                title: { type: 'string', minLength: 3 },
                creators: { type: 'array', minItems: 1 },
                engagement_priorities: { type: 'array' },
              },
            },
          },
        },
      },
    });
  });

  test('requires of published metadata what publishing requires', async () => {
    const { body } = (await openapiJson(realRoutes)(call)) as JsonReply;
    const { properties, required } = metadataJsonSchema('record');
    expect(body).toMatchObject({
      components: { schemas: { PublishedMetadata: { properties, required } } },
    });
  });

  test('is the same as YAML', async () => {
    const [asJson, asYaml] = [await openapiJson(realRoutes)(call), await openapiYaml(realRoutes)(call)];
    const { servers: _servers, ...described } = (asJson as unknown as { body: Record<string, unknown> }).body;
    const { servers: _others, ...written } = parse((asYaml as { text: string }).text) as Record<
      string,
      unknown
    >;
    expect(written).toEqual(described);
  });
});
