import { isNode, type Node, PREFIXES, safeIri, type Value } from './graph.ts';

/** The graph as JSON-LD 1.1. */
export function jsonLd(nodes: readonly Node[]): Record<string, unknown> {
  return { '@context': PREFIXES, '@graph': nodes.map(nodeObject) };
}

function nodeObject({ iri, types, properties }: Node): Record<string, unknown> {
  const grouped = Map.groupBy(
    properties.filter((pair): pair is readonly [string, Value] => pair[1] !== undefined),
    ([predicate]) => predicate,
  );
  return {
    ...(iri === undefined ? {} : { '@id': safeIri(iri) }),
    ...(types.length === 0 ? {} : { '@type': types }),
    ...Object.fromEntries(
      [...grouped].map(([predicate, pairs]) => [predicate, pairs.map(([, value]) => valueObject(value))]),
    ),
  };
}

function valueObject(value: Value): unknown {
  if (isNode(value)) return nodeObject(value);
  if ('iri' in value) return { '@id': safeIri(value.iri) };
  if ('datatype' in value) return { '@value': value.text, '@type': value.datatype };
  return value.language === undefined ? value.text : { '@value': value.text, '@language': value.language };
}
