/** A value of the document and the path of names that leads to it, list positions left out. */
export interface FieldValue {
  field: string;
  value: string;
}

/** The searchable fields. All others are excluded, above all an entity's owner, links and drafts. */
const SEARCHABLE = [
  'id',
  'created',
  'updated',
  'is_published',
  'is_draft',
  'status',
  'metadata',
  'pids',
  'access',
  'custom_fields',
  'relationship',
  'files.enabled',
  'versions.index',
  'versions.is_latest',
  'parent.id',
  'parent.type',
  'parent.category',
  'parent.communities',
  'parent.relationship',
] as const;

const MAX_DEPTH = 32;

/** All searchable values of a public document, in document order. Geometry is indexed as boxes instead. */
export function documentFields(document: Readonly<Record<string, unknown>>): FieldValue[] {
  const found: FieldValue[] = [];
  for (const path of SEARCHABLE) collect(at(document, path), path, 0, found);
  return found;
}

function collect(value: unknown, field: string, depth: number, found: FieldValue[]): void {
  if (depth > MAX_DEPTH || field.endsWith('.geometry')) return;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    found.push({ field, value: String(value) });
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, field, depth + 1, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) collect(inner, `${field}.${name}`, depth + 1, found);
  }
}

/** The value at a dotted path; undefined where it does not lead anywhere. */
export function at(document: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    return (value as Readonly<Record<string, unknown>>)[name];
  }, document);
}
