import type { Call, Reply } from '../http/endpoint.ts';
import type { Operation, Route } from '../http/route.ts';
import { openapiJson, openapiYaml } from './openapi.ts';

/** @param all every route of the interface, these included; read at the first request */
export function siteRoutes(all: () => readonly Route[]): Operation[] {
  const site = { method: 'GET', auth: 'open', produces: 'any', lane: 'local' } as const;
  return [
    {
      ...site,
      path: '/',
      operationId: 'welcome',
      summary: 'A page for people.',
      responses: { 200: 'Html' },
      handler: welcome,
    },
    {
      ...site,
      path: '/api/ping',
      operationId: 'ping',
      summary: 'Whether the gateway answers.',
      responses: { 200: 'Text' },
      handler: async () => ({ as: 'text', status: 200, type: 'text/plain', text: 'OK' }),
    },
    {
      ...site,
      path: '/api/openapi.json',
      operationId: 'openapiJson',
      summary: 'This description as JSON.',
      parameters: ['prettyprint'],
      responses: { 200: 'Description' },
      handler: openapiJson(all),
    },
    {
      ...site,
      path: '/api/openapi.yaml',
      operationId: 'openapiYaml',
      summary: 'This description as YAML.',
      responses: { 200: 'DescriptionYaml' },
      handler: openapiYaml(all),
    },
  ];
}

/** A page for people who open the address of the repository in a browser. */
async function welcome({ baseUrl }: Call): Promise<Reply> {
  return { as: 'text', status: 200, type: 'text/html; charset=utf-8', text: page(baseUrl) };
}

function page(baseUrl: string): string {
  const links = [
    ['/api/search', 'Everything that is published'],
    ['/api/packages', 'Knowledge packages'],
    ['/api/records', 'Knowledge resources'],
    ['/api/openapi.json', 'The interface, described as OpenAPI'],
    ['/api/user', 'Your account (requires a token)'],
  ].map(([path, text]) => `<li><a href="${baseUrl}${path}">${text}</a> <code>${path}</code></li>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Knowledge Repository</title>
<style>
  body { font: 1rem/1.6 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1rem }
  code { color: #555 }
</style>
<h1>Knowledge Repository</h1>
<p>It runs. It keeps knowledge resources and the packages that group them, and publishes a package with all
its resources at once or not at all.</p>
<ul>
${links.join('\n')}
</ul>
<p>Send your personal access token as <code>Authorization: Bearer kpat_…</code> to write.</p>
</html>
`;
}
