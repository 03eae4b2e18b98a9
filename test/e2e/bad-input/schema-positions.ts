import { type JsonSchema, metadataJsonSchema } from '@kr/metadata';

/** One position in the metadata that may have a value. */
export interface Position {
  /** From the metadata object on; numbers are places in lists. */
  path: readonly (string | number)[];
  schema: JsonSchema;
}

/** Every place that the schema of a kind's metadata names, lists with one item, derived parts left out. */
export function schemaPositions(kind: 'record' | 'package'): Position[] {
  return positionsIn({ path: [], schema: metadataJsonSchema(kind) });
}

function positionsIn({ path, schema }: Position): Position[] {
  if (schema['readOnly'] === true) return [];
  const here = path.length === 0 ? [] : [{ path, schema }];
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const members = properties.flatMap(([name, inner]) =>
    positionsIn({ path: [...path, name], schema: inner }),
  );
  const item = schema['items'] as JsonSchema | undefined;
  return [
    ...here,
    ...members,
    ...(item === undefined ? [] : positionsIn({ path: [...path, 0], schema: item })),
  ];
}

/** Metadata that has nothing but this value at this position. */
export function metadataWith(path: readonly (string | number)[], value: unknown): unknown {
  return path.reduceRight<unknown>(
    (inner, part) => (typeof part === 'number' ? [inner] : { [part]: inner }),
    value,
  );
}
