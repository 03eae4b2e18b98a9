import { type Content, type Element, element, xmlDocument } from '../xml/xml.ts';
import { expand, isNode, type Node, PREFIXES, safeIri, type Value } from './graph.ts';

/** RDF 1.1 XML syntax. */
export function rdfXml(nodes: readonly Node[]): string {
  return xmlDocument(rdfElement(nodes));
}

export function rdfElement(nodes: readonly Node[]): Element {
  const namespaces = Object.entries(PREFIXES).map(([name, iri]) => [`xmlns:${name}`, iri] as const);
  return element('rdf:RDF', Object.fromEntries(namespaces), nodes.map(nodeElement));
}

function nodeElement({ iri, types, properties }: Node): Element {
  const [first = 'rdf:Description', ...others] = types;
  return element(
    first,
    { 'rdf:about': iri === undefined ? undefined : safeIri(iri) },
    others.map((type) => element('rdf:type', { 'rdf:resource': expand(type) })),
    properties.map(([predicate, value]) => (value === undefined ? undefined : property(predicate, value))),
  );
}

function property(predicate: string, value: Value): Content {
  if (isNode(value)) return element(predicate, {}, nodeElement(value));
  if ('iri' in value) return element(predicate, { 'rdf:resource': safeIri(value.iri) });
  if ('datatype' in value) return element(predicate, { 'rdf:datatype': expand(value.datatype) }, value.text);
  return element(predicate, { 'xml:lang': value.language }, value.text);
}
