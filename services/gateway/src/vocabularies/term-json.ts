import type { Term, VocabularyType } from '@kr/metadata';

/** When the vocabularies of this release were put together; their entries never change one by one. */
const COMPILED_AT = '2026-11-21T00:00:00.000000+00:00';

/** The public form of one entry of a vocabulary. */
export function termJson(term: Term, type: VocabularyType, baseUrl: string): Record<string, unknown> {
  const { id, title, description, icon, props, tags } = term;
  return {
    id,
    created: COMPILED_AT,
    updated: COMPILED_AT,
    links: { self: `${baseUrl}/api/vocabularies/${type}/${encodeURIComponent(id)}` },
    revision_id: 1,
    title,
    ...(description === undefined ? {} : { description }),
    ...(icon === undefined ? {} : { icon }),
    props: props ?? {},
    tags: tags ?? [],
    type,
  };
}
