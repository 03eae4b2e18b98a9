import type { Issue } from '@kr/service-error';
import { isObject, type JsonObject } from './fields/field.ts';
import { recordOf } from './fields/record-of.ts';
import { termOf } from './fields/vocabulary-term.ts';
import { METADATA_FIELDS } from './metadata-schema.ts';
import { newReport } from './report.ts';
import type { Vocabularies } from './vocabularies.ts';

/** The kind of the entity: `/api/records` or `/api/packages`. */
export type MetadataKind = 'record' | 'package';

/** Metadata as stored: valid values in canonical form, and invalid values as they were sent. */
export type StoredMetadata = JsonObject;

const { resource_type: _always, ...PACKAGE_FIELDS } = METADATA_FIELDS;
const SCHEMAS = {
  record: recordOf(METADATA_FIELDS),
  package: recordOf(PACKAGE_FIELDS, { derived: ['resource_type'] }),
} as const;

/**
 * Checks metadata of either kind (REST document, sections 2.2 and 2.3). One rule set, two strengths: saving keeps
 * what was sent and lists `issues`; publishing refuses when there are any. `fatal` issues refuse both:
 * HTML beyond its limits. Unknown fields are reported and dropped.
 *
 * `input` may be any JSON value; `undefined` counts as an empty object. Without `strict`, metadata that was not sent
 * at all has no issues (an empty draft is a fine start).
 */
export function checkMetadata(
  input: unknown,
  kind: MetadataKind,
  { strict, vocabularies }: { strict: boolean; vocabularies: Vocabularies },
): { metadata: StoredMetadata; issues: Issue[]; fatal: Issue[] } {
  if (input === undefined && !strict) return { metadata: {}, issues: [], fatal: [] };
  const report = { ...newReport(), vocabularies };
  const checked = SCHEMAS[kind].check(input ?? {}, 'metadata', report);
  return {
    metadata: isObject(checked) ? withThemes(checked, vocabularies) : {},
    issues: report.issues(),
    fatal: report.fatal(),
  };
}

/** The public form of stored metadata: titles and other parts of vocabulary entries added, in the order of the schema. */
export function renderMetadata(
  stored: StoredMetadata,
  kind: MetadataKind,
  vocabularies: Vocabularies,
): JsonObject {
  const rendered = SCHEMAS[kind].render(stored, vocabularies);
  const fields = isObject(rendered) ? rendered : {};
  return kind === 'package' ? { resource_type: packageType(vocabularies), ...fields } : fields;
}

function packageType(vocabularies: Vocabularies): JsonObject {
  return { id: 'knowledge', title: vocabularies.lookup('resourcetypes', 'knowledge')?.title };
}

/** A work-programme activity brings the engagement priorities it is tagged with. */
function withThemes(metadata: StoredMetadata, vocabularies: Vocabularies): StoredMetadata {
  const tags = termOf(vocabularies, 'geowptypes', metadata['geo_work_programme_activity'])?.tags ?? [];
  const priorities = metadata['engagement_priorities'] ?? [];
  if (tags.length === 0 || !Array.isArray(priorities)) return metadata;
  const present = new Set(priorities.map((priority) => (isObject(priority) ? priority['id'] : undefined)));
  const added = tags
    .filter((id) => !present.has(id) && vocabularies.lookup('engagementprioritiestypes', id))
    .map((id) => ({ id }));
  return { ...metadata, engagement_priorities: [...priorities, ...added] };
}
