import { type Entity, type FileEntry, licenceUrl, plainText, titleOf } from '@kr/formats';
import type { Texts } from '../html/texts.ts';

const IMAGE = /\.(?:gif|jpe?g|png|tiff?|webp)$/i;

/** The files that have IIIF services. */
export function imagesOf(entries: readonly FileEntry[]): FileEntry[] {
  return entries.filter(({ key, status }) => status === 'completed' && IMAGE.test(key));
}

/** URLs of the IIIF services of an entity. */
export function iiifBase(baseUrl: string, subject: string): string {
  return `${baseUrl}/api/iiif/${subject}`;
}

/** @see https://iiif.io/api/presentation/3.0/#52-manifest */
export function manifest(
  entity: Entity,
  images: readonly FileEntry[],
  base: string,
  texts: Texts,
): Record<string, unknown> {
  const { metadata, links } = entity;
  const licence = metadata.rights?.map(licenceUrl).find((url) => url !== undefined);
  const label = (text: string) => ({ [texts.language]: [text] });
  return {
    '@context': 'http://iiif.io/api/presentation/3/context.json',
    id: `${base}/manifest`,
    type: 'Manifest',
    label: label(titleOf(entity)),
    ...(metadata.description ? { summary: label(plainText(metadata.description)) } : {}),
    ...(metadata.publication_date
      ? {
          metadata: [
            { label: label(texts.entity.publicationDate), value: { none: [metadata.publication_date] } },
          ],
        }
      : {}),
    ...(licence === undefined ? {} : { rights: licence }),
    homepage: [{ id: links['self_html'], type: 'Text', label: label(titleOf(entity)), format: 'text/html' }],
    items: images.map((image) => canvas(image, base, texts)),
  };
}

/** @see https://iiif.io/api/presentation/3.0/#53-canvas */
export function canvas(
  { key, mimetype, metadata }: FileEntry,
  base: string,
  texts: Texts,
): Record<string, unknown> {
  const name = encodeURIComponent(key);
  const id = `${base}/canvas/${name}`;
  const service = `${base}:${name}`;
  const size = { width: metadata?.width ?? 1_000, height: metadata?.height ?? 1_000 };
  return {
    id,
    type: 'Canvas',
    label: { [texts.language]: [key] },
    ...size,
    items: [
      {
        id: `${id}/page`,
        type: 'AnnotationPage',
        items: [
          {
            id: `${id}/annotation`,
            type: 'Annotation',
            motivation: 'painting',
            target: id,
            body: {
              id: `${service}/full/max/0/default.jpg`,
              type: 'Image',
              format: mimetype ?? 'image/jpeg',
              ...size,
              service: [{ id: service, type: 'ImageService3', profile: 'level2' }],
            },
          },
        ],
      },
    ],
  };
}

/** The sequence of version 2, which the link `self_iiif_sequence` names. @see https://iiif.io/api/presentation/2.1/#sequence */
export function sequence(images: readonly FileEntry[], base: string): Record<string, unknown> {
  return {
    '@context': 'http://iiif.io/api/presentation/2/context.json',
    '@id': `${base}/sequence/default`,
    '@type': 'sc:Sequence',
    label: 'Current Page Order',
    viewingDirection: 'left-to-right',
    viewingHint: 'paged',
    canvases: images.map(({ key, mimetype, metadata }) => {
      const id = `${base}/canvas/${encodeURIComponent(key)}`;
      const service = `${base}:${encodeURIComponent(key)}`;
      const size = metadata?.width === undefined ? {} : { width: metadata.width, height: metadata.height };
      return {
        '@id': id,
        '@type': 'sc:Canvas',
        label: key,
        ...size,
        images: [
          {
            '@type': 'oa:Annotation',
            motivation: 'sc:painting',
            on: id,
            resource: {
              '@id': `${service}/full/full/0/default.png`,
              '@type': 'dctypes:Image',
              format: mimetype,
              ...size,
              service: {
                '@context': 'http://iiif.io/api/image/2/context.json',
                '@id': service,
                profile: 'http://iiif.io/api/image/2/level1.json',
              },
            },
          },
        ],
      };
    }),
  };
}

/** @see https://iiif.io/api/image/3.0/#5-image-information */
export function imageInfo(
  id: string,
  { width, height }: { width: number; height: number },
): Record<string, unknown> {
  return {
    '@context': 'http://iiif.io/api/image/3/context.json',
    id,
    type: 'ImageService3',
    protocol: 'http://iiif.io/api/image',
    profile: 'level2',
    width,
    height,
    maxWidth: 4_096,
    tiles: [{ width: 256, scaleFactors: [1, 2, 4, 8, 16, 32, 64] }],
    extraFormats: ['webp'],
    extraQualities: ['color', 'gray', 'bitonal'],
  };
}
