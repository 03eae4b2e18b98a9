import type { FieldDescription } from './fields/field.ts';
import type { MetadataKind } from './metadata.ts';
import { METADATA_FIELDS } from './metadata-schema.ts';

/** A JSON Schema of draft 2020-12, as OpenAPI 3.1 embeds it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The JSON Schema of the metadata of a kind, for the description of the interface. Derived parts are read-only. */
export function metadataJsonSchema(kind: MetadataKind): JsonSchema {
  const properties = Object.fromEntries(
    Object.entries(METADATA_FIELDS).map(([name, { field }]) => [name, schemaOf(field.describes)]),
  );
  const required = Object.entries(METADATA_FIELDS)
    .filter(([, member]) => 'required' in member && member.required)
    .map(([name]) => name);
  if (kind === 'record') return { type: 'object', properties, required };
  return {
    type: 'object',
    properties: { ...properties, resource_type: { ...properties['resource_type'], readOnly: true } },
    required: required.filter((name) => name !== 'resource_type'),
  };
}

const TEXT_BY_LANGUAGE: JsonSchema = {
  type: 'object',
  description: 'Language code to text.',
  additionalProperties: { type: 'string' },
};

const TEXT_FORMATS = {
  html: { contentMediaType: 'text/html' },
  email: { format: 'email' },
  uri: { format: 'uri' },
  edtf: {
    description: 'A date or a closed interval of EDTF level 0.',
    examples: ['2026-05-04', '2026', '2025/2026-05'],
  },
} as const;

function schemaOf(field: FieldDescription): JsonSchema {
  switch (field.is) {
    case 'text':
      return {
        type: 'string',
        ...(field.minLength === undefined ? {} : { minLength: field.minLength }),
        ...(field.choices === undefined ? {} : { enum: field.choices }),
        ...(field.format === undefined ? {} : TEXT_FORMATS[field.format]),
      };
    case 'term':
      return {
        type: 'object',
        description: `An entry of the vocabulary ${field.vocabulary}.`,
        properties: { id: { type: 'string' }, title: { ...TEXT_BY_LANGUAGE, readOnly: true } },
        required: ['id'],
      };
    case 'languages':
      return TEXT_BY_LANGUAGE;
    case 'list':
      return {
        type: 'array',
        items: schemaOf(field.item),
        ...(field.minItems > 0 ? { minItems: field.minItems } : {}),
      };
    case 'object':
      return {
        type: 'object',
        properties: {
          ...Object.fromEntries(
            Object.entries(field.members).map(([name, member]) => [name, schemaOf(member)]),
          ),
          ...Object.fromEntries(field.derived.map((name) => [name, { readOnly: true }])),
        },
        ...(field.required.length > 0 ? { required: field.required } : {}),
      };
    case 'geometry':
      return {
        type: 'object',
        description: 'A GeoJSON geometry (RFC 7946, section 3.1).',
        properties: {
          type: { type: 'string' },
          coordinates: { type: 'array', items: numbersNested(3) },
          geometries: { type: 'array', items: { type: 'object', additionalProperties: true } },
        },
        required: ['type'],
      };
    default:
      return field satisfies never;
  }
}

/** Numbers, or arrays of them down to this depth: those of a MultiPolygon lie in four arrays. */
function numbersNested(depth: number): JsonSchema {
  const number = { type: 'number' };
  return depth === 0 ? number : { anyOf: [number, { type: 'array', items: numbersNested(depth - 1) }] };
}

/** How a metadata value is searched: word by word, whole, or as a date. */
export interface SearchField {
  type: 'text' | 'keyword' | 'date';
  isHtml: boolean;
}

/**
 * Every metadata field by its path in a public document, list positions left out (`metadata.creators.role.id`). Texts by
 * language have `*` in place of the language.
 */
export function metadataSearchFields(): ReadonlyMap<string, SearchField> {
  const found = new Map<string, SearchField>();
  for (const [name, { field }] of Object.entries(METADATA_FIELDS)) {
    collect(field.describes, `metadata.${name}`, found);
  }
  return found;
}

function collect(field: FieldDescription, path: string, found: Map<string, SearchField>): void {
  switch (field.is) {
    case 'text':
      found.set(path, { type: field.search, isHtml: field.format === 'html' });
      return;
    case 'term':
      found.set(`${path}.id`, { type: 'keyword', isHtml: false });
      found.set(`${path}.title.*`, { type: 'text', isHtml: false });
      return;
    case 'languages':
      found.set(`${path}.*`, { type: 'text', isHtml: false });
      return;
    case 'list':
      collect(field.item, path, found);
      return;
    case 'object':
      for (const [name, member] of Object.entries(field.members)) collect(member, `${path}.${name}`, found);
      return;
    case 'geometry':
      // Indexing services reduce geometries to boxes.
      return;
    default:
      field satisfies never;
  }
}

/** One row of the field reference. */
export interface DocumentedField {
  /** Path in a document; `[]` after a list. */
  path: string;
  /** The input of a client. */
  type: string;
  isRequired: boolean;
}

/** Every metadata field that clients may send, in the order of documents; members follow their object. */
export function documentedFields(): readonly DocumentedField[] {
  return Object.entries(METADATA_FIELDS).flatMap(([name, member]) =>
    rowsOf(member.field.describes, name, 'required' in member && member.required),
  );
}

function rowsOf(field: FieldDescription, path: string, isRequired: boolean): DocumentedField[] {
  if (field.is === 'list') return rowsOf(field.item, `${path}[]`, isRequired);
  const row = { path, type: typeOf(field), isRequired };
  if (field.is !== 'object') return [row];
  const members = Object.entries(field.members).flatMap(([name, member]) =>
    rowsOf(member, `${path}.${name}`, field.required.includes(name)),
  );
  return [row, ...members];
}

function typeOf(field: Exclude<FieldDescription, { is: 'list' }>): string {
  switch (field.is) {
    case 'term':
      return `\`{"id": …}\` of the vocabulary \`${field.vocabulary}\``;
    case 'languages':
      return 'text by language, such as `{"en": "…"}`';
    case 'geometry':
      return 'GeoJSON geometry';
    case 'object':
      return 'object';
    case 'text': {
      const { choices, format, minLength } = field;
      if (choices !== undefined) return `one of ${choices.map((choice) => `\`${choice}\``).join(', ')}`;
      const kind = format === undefined ? 'text' : TEXT_TYPES[format];
      return minLength === undefined ? kind : `${kind}, at least ${minLength} characters`;
    }
    default:
      return field satisfies never;
  }
}

const TEXT_TYPES = {
  html: 'HTML, sanitised',
  email: 'email address',
  uri: 'URL',
  edtf: 'EDTF level 0 date or interval, such as `2026-05-04` or `2025/2026-05`',
} as const;
