import { isNode, type Node, PREFIXES, safeIri, type Value } from './graph.ts';

/** RDF 1.1 Turtle. Nodes with an IRI become subjects, in the order of their first use; others are written inline. */
export function turtle(nodes: readonly Node[]): string {
  const prefixes = Object.entries(PREFIXES).map(([name, iri]) => `@prefix ${name}: <${iri}> .`);
  const subjects = withNested(nodes).map(
    (node) => `<${safeIri(node.iri ?? '')}>\n${predicates(node, '  ')} .`,
  );
  return `${prefixes.join('\n')}\n\n${subjects.join('\n\n')}\n`;
}

/** All nodes with an IRI, each once. */
function withNested(nodes: readonly Node[], found = new Map<string, Node>()): Node[] {
  for (const node of nodes) {
    if (node.iri !== undefined && found.has(node.iri)) continue;
    if (node.iri !== undefined) found.set(node.iri, node);
    const values = node.properties.flatMap(([, value]) =>
      value !== undefined && isNode(value) ? [value] : [],
    );
    withNested(values, found);
  }
  return [...found.values()];
}

function predicates({ types, properties }: Node, indent: string): string {
  const lines = [
    ...(types.length === 0 ? [] : [`a ${types.join(', ')}`]),
    ...properties.flatMap(([predicate, value]) =>
      value === undefined ? [] : [`${predicate} ${write(value, indent)}`],
    ),
  ];
  return lines.map((line) => `${indent}${line}`).join(' ;\n');
}

function write(value: Value, indent: string): string {
  if ('iri' in value && value.iri !== undefined) return `<${safeIri(value.iri)}>`;
  if (isNode(value)) return `[\n${predicates(value, `${indent}  `)}\n${indent}]`;
  if (!('text' in value)) return '[]';
  const text = `"${escapeText(value.text)}"`;
  if ('datatype' in value) return `${text}^^${value.datatype}`;
  return value.language === undefined ? text : `${text}@${value.language}`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '"': '\\"',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function escapeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are escaped or removed
  const without = text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '');
  return without.replace(/[\\"\n\r\t]/g, (character) => ESCAPES[character] ?? '');
}
