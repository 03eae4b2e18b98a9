import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openChromium, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Entity, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { packageOfResources, publish, upload } from './story/stories.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Screenshots of every page, for people to inspect; ignored by git. */
const SCREENSHOTS = resolve(import.meta.dirname, '../../.data/screenshots');
const DEVICES: Readonly<Record<string, BrowserContextOptions>> = {
  'desktop, light': { viewport: { width: 1_280, height: 900 }, colorScheme: 'light' },
  'desktop, dark': { viewport: { width: 1_280, height: 900 }, colorScheme: 'dark' },
  'phone, light': { viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true },
  'phone, dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true },
};
/** One red page. */
const PDF = Buffer.from(`%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R>>endobj
4 0 obj<</Length 28>>stream
1 0 0 rg 0 0 300 200 re f
endstream endobj
trailer<</Root 1 0 R>>
%%EOF
`);
const GEOJSON = JSON.stringify({ type: 'Point', coordinates: [28.8, 45.17] });

const found = await openChromium();
let system: TestSystem;
let author: HttpClient;
let browser: Browser;
let pages: Readonly<Record<string, string>>;
let record: Entity;

beforeAll(async () => {
  if ('missing' in found) return;
  await mkdir(SCREENSHOTS, { recursive: true });
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  browser = await chromium.launch({ executablePath: found.executablePath, args });
  system = await startSystem({ hasPages: true });
  author = httpClient(system.baseUrl, system.token);
  record = await publishedRecord();
  const { main } = await packageOfResources(author, 'Floods', 2);
  const packaged = await publish(author, main);
  const restricted = await publish(
    author,
    await author.sure<Entity>('POST', '/packages', {
      json: packageDocument('Secret maps', { access: { record: 'restricted', files: 'restricted' } }),
    }),
  );
  const { token } = await author.sure<{ token: string }>('POST', `/packages/${restricted.id}/access/links`, {
    json: { permission: 'view' },
  });
  const embargoed = await author.sure<Entity>('POST', '/records', {
    json: {
      ...recordDocument('Later'),
      access: {
        record: 'public',
        files: 'restricted',
        embargo: { active: true, until: '2090-01-01', reason: 'thesis' },
      },
    },
  });
  const admin = httpClient(system.baseUrl, (await system.createUser('root', { admin: true })).token);
  const removed = await publish(
    author,
    await author.sure<Entity>('POST', '/records', { json: recordDocument('Gone') }),
  );
  await admin.sure('DELETE', `/records/${removed.id}`, {
    json: { removal_reason: { id: 'takedown-request' }, note: 'On request.' },
  });
  pages = {
    welcome: '/',
    search: '/search?q=floods',
    map: '/search?view=map',
    record: `/records/${record.id}`,
    package: `/packages/${packaged.id}`,
    versions: `/packages/${packaged.id}/versions`,
    table: `/records/${record.id}/preview/levels.csv`,
    place: `/records/${record.id}/preview/place.geojson`,
    notebook: `/records/${record.id}/preview/analysis.ipynb`,
    pdf: `/records/${record.id}/preview/report.pdf`,
    removed: `/records/${removed.id}`,
    restricted: `/packages/${restricted.id}`,
    shared: `/packages/${restricted.id}?token=${token}`,
    embargoed: `/records/${(await publish(author, embargoed)).id}`,
    missing: '/records/abcde-fghij',
  };
  await until(async () => (await author.sure<Listing<Entity>>('GET', '/search?q=floods')).hits.total >= 3);
});
afterAll(async () => {
  await browser?.close();
  await system?.stop();
});

async function publishedRecord(): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('Levels of the Danube', {
      withFiles: true,
      metadata: {
        description: '<p>Daily levels of floods.</p>',
        subjects: [{ subject: 'hydrology' }],
        rights: [{ id: 'cc-by-4.0' }],
        locations: { features: [{ place: 'Tulcea', geometry: JSON.parse(GEOJSON) }] },
      },
    }),
  });
  const notebook = {
    cells: [
      { cell_type: 'markdown', source: ['# Analysis'] },
      { cell_type: 'code', source: 'print(1)', outputs: [{ text: ['1\n'] }] },
    ],
  };
  await upload(author, draft, 'levels.csv', Buffer.from('day,level\n2026-05-01,120\n'));
  await upload(author, draft, 'place.geojson', Buffer.from(GEOJSON));
  await upload(author, draft, 'analysis.ipynb', Buffer.from(JSON.stringify(notebook)));
  await upload(author, draft, 'report.pdf', PDF);
  return publish(author, draft);
}

/** Everything that the browser reports on its pages, apart from answers that are expected. */
function watchProblems(page: Page): string[] {
  const problems: string[] = [];
  const isExpected = (text: string): boolean => /status of (?:403|404|410)/.test(text);
  page.on('console', (message) => {
    if (message.type() === 'error' && !isExpected(message.text())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== system.baseUrl)
      problems.push(`requests ${url.href}`);
  });
  return problems;
}

/** Opens a path, and returns what axe and the layout report on it. */
async function problemsOf(page: Page, path: string): Promise<string[]> {
  await page.goto(`${system.baseUrl}${path}`);
  await page.evaluate(AXE);
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(options: { resultTypes: string[] }): Promise<{
          violations: { id: string; impact: string; nodes: { html: string }[] }[];
        }>;
      };
    };
    const result = await axe.run({ resultTypes: ['violations'] });
    return result.violations.map(({ id, impact, nodes }) => ({ id, impact, html: nodes[0]?.html }));
  });
  const overflow = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
  return [
    ...violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, impact, html }) => `${impact}: ${id} at ${html}`),
    ...(overflow > 0 ? [`is ${overflow} px too wide`] : []),
  ];
}

if ('missing' in found) test.skip(`pages in a browser (${found.missing})`, () => {});
else {
  describe.each(Object.entries(DEVICES))('on a %s', (device, options) => {
    test('every page is accessible, fits and loads nothing from elsewhere', async () => {
      const problems: Record<string, string[]> = {};
      // The policy of the pages forbids the scripts of axe.
      const context = await browser.newContext({ ...options, bypassCSP: true });
      const page = await context.newPage();
      const reported = watchProblems(page);
      for (const [name, path] of Object.entries(pages)) {
        const own = await problemsOf(page, path);
        const file = `${name}-${device.replace(/\W+/g, '-')}.png`;
        await page.screenshot({ path: join(SCREENSHOTS, file), fullPage: true });
        own.push(...reported.splice(0));
        if (own.length > 0) problems[name] = own;
      }
      await context.close();
      expect(problems).toEqual({});
    });
  });

  describe('a reader', () => {
    let page: Page;
    beforeAll(async () => {
      page = await (await browser.newContext({ viewport: { width: 1_280, height: 900 } })).newPage();
    });
    afterAll(() => page?.context().close());

    test('finds a resource from the start page, and its preview, by keyboard', async () => {
      await page.goto(`${system.baseUrl}/`);
      await page.locator('main input[type=search]').fill('danube');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Levels of the Danube' }).focus();
      await page.keyboard.press('Enter');
      expect(await page.locator('h1').textContent()).toBe('Levels of the Danube');
      await page.getByRole('link', { name: 'Preview of levels.csv' }).click();
      expect(await page.locator('td').allTextContents()).toEqual(['2026-05-01', '120']);
    });

    test('sees a PDF in the page, although its frame is sandboxed', async () => {
      await page.goto(`${system.baseUrl}${pages['pdf']}`);
      const viewer = () => page.frames().some((frame) => frame.url().startsWith('chrome-extension://'));
      await until(viewer);
      await page.screenshot({ path: join(SCREENSHOTS, 'pdf-viewer.png') });
    });

    test('draws a box on the map and finds what is in it', async () => {
      await page.goto(`${system.baseUrl}/search?view=map`);
      const map = await page.locator('#result-map svg').boundingBox();
      if (map === null) throw new Error('the map is not shown');
      const at = (lon: number, lat: number): [number, number] => [
        map.x + ((lon + 180) / 360) * map.width,
        map.y + ((90 - lat) / 180) * map.height,
      ];
      await page.mouse.move(...at(10, 55));
      await page.mouse.down();
      await page.mouse.move(...at(40, 40), { steps: 5 });
      await Promise.all([page.waitForURL(/west=/), page.mouse.up()]);
      expect(await page.getByRole('link', { name: 'Levels of the Danube' }).count()).toBeGreaterThan(0);
      expect(await page.getByRole('link', { name: 'Floods', exact: true }).count()).toBe(0);
      const west = new URL(page.url()).searchParams.get('west');
      expect(Math.abs(Number(west) - 10)).toBeLessThan(2);
    });

    test('reads without JavaScript', async () => {
      const context = await browser.newContext({ javaScriptEnabled: false });
      const plain = await context.newPage();
      await plain.goto(`${system.baseUrl}/search?west=28&south=45&east=29&north=46`);
      await plain.getByRole('link', { name: 'Levels of the Danube' }).click();
      expect(await plain.locator('h1').textContent()).toBe('Levels of the Danube');
      await context.close();
    });

    test('opens a restricted package with an access link only', async () => {
      const { restricted = '', shared = '' } = pages;
      await page.goto(`${system.baseUrl}${restricted}`);
      expect(await page.locator('h1').textContent()).toBe('Restricted');
      await page.goto(`${system.baseUrl}${shared}`);
      expect(await page.locator('h1').textContent()).toBe('Secret maps');
    });

    test('gets few bytes of JavaScript', async () => {
      const { text } = await author.call('GET', `${system.baseUrl}${pages['record']}`);
      const scripts = [...text.matchAll(/<script type="module" src="([^"]+)"/g)].map(([, url]) => url ?? '');
      const sizes = await Promise.all(
        scripts.map(async (url) => (await author.call('GET', `${system.baseUrl}${url}`)).bytes.length),
      );
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(10_000);
    });
  });
}
