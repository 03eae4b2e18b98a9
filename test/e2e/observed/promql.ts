import { parser } from '@prometheus-io/lezer-promql';

/** The names and labels of an expression. */
export interface Asked {
  /** Where it is no PromQL. */
  mistakes: string[];
  selectors: { metric: string; labels: string[] }[];
  /** Labels by which it groups and joins. */
  grouping: string[];
}

/** Variables of Grafana that are not PromQL. */
const OF_GRAFANA: readonly [RegExp, string][] = [
  [/\$__(rate_interval|interval|range)/g, '5m'],
  [/\$\w+/g, '.*'],
];

/** Reads an expression of a dashboard or an alert by the grammar of Prometheus. */
export function readPromql(expression: string): Asked {
  const text = OF_GRAFANA.reduce((changed, [what, by]) => changed.replace(what, by), expression);
  const asked: Asked = { mistakes: [], selectors: [], grouping: [] };
  parser.parse(text).iterate({
    enter: (node) => {
      const words = text.slice(node.from, node.to);
      if (node.type.isError) asked.mistakes.push(`at ${node.from}: ${text.slice(node.from, node.from + 20)}`);
      if (node.name === 'VectorSelector') asked.selectors.push({ metric: '', labels: [] });
      const selector = asked.selectors.at(-1);
      const { parent } = node.node;
      if (node.name === 'Identifier' && parent?.name === 'VectorSelector' && selector !== undefined)
        selector.metric = words;
      if (node.name !== 'LabelName') return;
      if (parent?.name === 'GroupingLabels') asked.grouping.push(words);
      else selector?.labels.push(words);
    },
  });
  return asked;
}
