import type { Entity } from '../document/entity.ts';
import { compact } from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';
import { schemaOrg } from './schema-org.ts';

/** Croissant 1.0 (MLCommons): schema.org plus the files of the dataset. */
export function croissant(entity: Entity, context: FormatContext): Record<string, unknown> {
  const { distribution: _, '@context': __, '@type': ___, ...described } = schemaOrg(entity, context);
  return {
    '@context': CONTEXT,
    '@type': 'sc:Dataset',
    ...described,
    conformsTo: 'http://mlcommons.org/croissant/1.0',
    distribution: context.files.map(({ key, size, mimetype, checksum, links }) => {
      const [algorithm = '', digest] = (checksum ?? '').split(':');
      return compact({
        '@type': 'cr:FileObject',
        '@id': key,
        name: key,
        contentUrl: links.content,
        contentSize: `${size} B`,
        encodingFormat: mimetype ?? 'application/octet-stream',
        [algorithm === 'sha256' ? 'sha256' : 'md5']: digest,
      });
    }),
  };
}

const CONTEXT = {
  '@language': 'en',
  '@vocab': 'https://schema.org/',
  sc: 'https://schema.org/',
  cr: 'http://mlcommons.org/croissant/',
  dct: 'http://purl.org/dc/terms/',
  conformsTo: 'dct:conformsTo',
  citeAs: 'cr:citeAs',
  md5: 'cr:md5',
  data: { '@id': 'cr:data', '@type': '@json' },
  recordSet: 'cr:recordSet',
  field: 'cr:field',
  fileObject: 'cr:fileObject',
  fileSet: 'cr:fileSet',
};
