import type { Entity, FileEntry, Kind } from '@kr/formats';
import { type Request, type Response, Router } from 'express';
import { ApiError } from '../api/repository.ts';
import { concurrencyLimit } from '../concurrency-limit.ts';
import type { PageContext } from '../html/layout.ts';
import { readImageRequest } from './image-request.ts';
import { canvas, iiifBase, imageInfo, imagesOf, manifest, sequence } from './manifest.ts';
import { dimensionsOf, IMAGE_TYPES, renderImage } from './render-image.ts';

/** The largest file that is rendered, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Images that are read or rendered at once; each may take some hundred MB of memory. */
const MAX_CONCURRENT = 2;

const FORMS: Readonly<Record<string, { kind: Kind; isDraft: boolean }>> = {
  record: { kind: 'record', isDraft: false },
  draft: { kind: 'record', isDraft: true },
  package: { kind: 'package', isDraft: false },
  'package-draft': { kind: 'package', isDraft: true },
};

type Answer = (
  context: PageContext,
  params: Record<string, string>,
) => Promise<{ type: string; body: Buffer | object }>;

/** `/api/iiif`: Presentation API 3 (and the sequence of 2), and Image API 3, with the rights of reading the files. */
export function iiifRoutes(contextOf: (request: Request, response: Response) => PageContext): Router {
  const router = Router({ strict: true, caseSensitive: true });
  const limitConcurrency = concurrencyLimit(MAX_CONCURRENT);
  router.use((request, response, next) => {
    response.set('access-control-allow-origin', '*').vary('Authorization');
    if (request.method !== 'OPTIONS') return next();
    response
      .set({ 'access-control-allow-methods': 'GET, HEAD', 'access-control-allow-headers': 'Authorization' })
      .status(204)
      .end();
  });
  const route = (path: string, answer: Answer): void => {
    router.get(path, async (request, response) => {
      try {
        const { type, body } = await answer(
          contextOf(request, response),
          request.params as Record<string, string>,
        );
        response.type(type).send(body);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        response.status(error.status).json(error.body);
      }
    });
  };
  const LD = 'application/ld+json';

  route('/:subject/manifest', async (context, { subject = '' }) => {
    const { entity, images } = await read(context, subject);
    return {
      type: LD,
      body: manifest(entity, images, iiifBase(context.reader.baseUrl, subject), context.texts),
    };
  });
  route('/:subject/sequence/default', async (context, { subject = '' }) => {
    const { images } = await read(context, subject);
    return { type: LD, body: sequence(images, iiifBase(context.reader.baseUrl, subject)) };
  });
  route('/:subject/canvas/:key', async (context, { subject = '', key = '' }) => {
    const { images } = await read(context, subject);
    return {
      type: LD,
      body: canvas(imageIn(images, key), iiifBase(context.reader.baseUrl, subject), context.texts),
    };
  });
  route('/:image/info.json', async (context, { image = '' }) => {
    const info = await limitConcurrency(async () => {
      const { bytes, id } = await readImage(context, image);
      const size = await dimensionsOf(bytes);
      return size && imageInfo(id, size);
    });
    if (info === undefined) throw notFound();
    return { type: LD, body: info };
  });
  route(
    '/:image/:region/:size/:rotation/:file',
    async (context, { image = '', region = '', size = '', rotation = '', file = '' }) => {
      const request = readImageRequest(region, size, rotation, file);
      const body = await limitConcurrency(async () => {
        const { bytes } = await readImage(context, image);
        return renderImage(bytes, request);
      });
      return { type: IMAGE_TYPES[request.format], body };
    },
  );
  router.get('/:image', (request, response) => {
    response.redirect(301, `${request.originalUrl.split('?')[0]}/info.json`);
  });
  return router;
}

async function read(
  { repository }: PageContext,
  subject: string,
): Promise<{ entity: Entity; images: FileEntry[] }> {
  const [, prefix = '', id = ''] = /^([a-z-]+):([0-9a-z-]+)$/.exec(subject) ?? [];
  const form = FORMS[prefix];
  if (form === undefined) throw notFound();
  const entity = await (form.isDraft ? repository.draft(form.kind, id) : repository.entity(form.kind, id));
  const { entries = [] } = await repository.files(entity, form.kind);
  return { entity, images: imagesOf(entries) };
}

async function readImage(context: PageContext, image: string): Promise<{ bytes: Buffer; id: string }> {
  const [, subject = '', key = ''] = /^([a-z-]+:[0-9a-z-]+):(.+)$/s.exec(image) ?? [];
  const { images } = await read(context, subject);
  const entry = imageIn(images, key);
  if (entry.size > MAX_BYTES) {
    throw new ApiError(400, {
      status: 400,
      message: 'The file is too large to be shown as an image.',
      code: 'too_large',
    });
  }
  const { bytes } = await context.repository.contentStart(new URL(entry.links.content).pathname, MAX_BYTES);
  return { bytes, id: `${iiifBase(context.reader.baseUrl, subject)}:${encodeURIComponent(key)}` };
}

function imageIn(images: readonly FileEntry[], key: string): FileEntry {
  const entry = images.find((one) => one.key === key);
  if (entry === undefined) throw notFound();
  return entry;
}

function notFound(): ApiError {
  return new ApiError(404, { status: 404, message: 'There is no such image.', code: 'not_found' });
}
