/** A small RDF graph: resources with typed properties, in the order they are written. */

export type Value =
  | { iri: string }
  | { text: string; language?: string }
  | { text: string; datatype: string }
  | Node;

export interface Node {
  /** Undefined: a blank node, written inline. */
  iri?: string | undefined;
  types: readonly string[];
  properties: readonly (readonly [predicate: string, value: Value | undefined])[];
}

/** Prefix → namespace; names such as `dct:title` are written with them. */
export const PREFIXES: Readonly<Record<string, string>> = {
  adms: 'http://www.w3.org/ns/adms#',
  dcat: 'http://www.w3.org/ns/dcat#',
  dct: 'http://purl.org/dc/terms/',
  foaf: 'http://xmlns.com/foaf/0.1/',
  geo: 'http://www.opengis.net/ont/geosparql#',
  locn: 'http://www.w3.org/ns/locn#',
  prov: 'http://www.w3.org/ns/prov#',
  rdf: 'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
  rdfs: 'http://www.w3.org/2000/01/rdf-schema#',
  skos: 'http://www.w3.org/2004/02/skos/core#',
  spdx: 'http://spdx.org/rdf/terms#',
  vcard: 'http://www.w3.org/2006/vcard/ns#',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
};

export function isNode(value: Value): value is Node {
  return 'types' in value;
}

/** An absolute IRI without the characters that RDF syntaxes forbid. */
export function safeIri(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: RDF forbids them in IRIs
  return text.replace(/[\u0000-\u0020<>"{}|\\^`]/g, (character) => encodeURIComponent(character));
}

export function expand(name: string): string {
  const [prefix = '', local = ''] = name.split(/:(.*)/s);
  return `${PREFIXES[prefix] ?? `${prefix}:`}${local}`;
}
