import type { SentSpan } from '@kr/testbed';

/** Spans of one trace, and how they hang together. */
export interface SpanTree {
  spans: readonly SentSpan[];
  /** Spans without a received parent. */
  orphans: readonly SentSpan[];
  /** `service: name`, from the root down to the span. */
  pathOf(span: SentSpan): string[];
  /** Whether the tree contains these in this order, one below the other. */
  has(...path: readonly string[]): boolean;
}

export function spanTree(spans: readonly SentSpan[]): SpanTree {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const pathOf = (span: SentSpan): string[] => {
    const parent = byId.get(span.parentSpanId);
    return [...(parent === undefined ? [] : pathOf(parent)), `${span.service}: ${span.name}`];
  };
  return {
    spans,
    orphans: spans.filter(({ parentSpanId }) => parentSpanId !== '' && !byId.has(parentSpanId)),
    pathOf,
    has: (...path) => spans.some((span) => isWithin(path, pathOf(span))),
  };
}

/** Whether the steps are found on the way in their order, others between them or not. */
function isWithin(steps: readonly string[], way: readonly string[]): boolean {
  let reached = 0;
  for (const place of way) if (place === steps[reached]) reached += 1;
  return reached === steps.length;
}
