import type { DescribeIndexResponse } from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import type { SearchEngine } from './engine/search-engine.ts';

export interface DescribeIndexDeps {
  engine: SearchEngine;
  consumer: Consumer;
  countDeadLetters: () => Promise<number>;
}

/** SearchService.DescribeIndex. @throws ServiceError `internal` while the bus cannot be reached */
export async function describeIndex({
  engine,
  consumer,
  countDeadLetters,
}: DescribeIndexDeps): Promise<DescribeIndexResponse> {
  const [documents, pendingEvents, deadLetters] = await Promise.all([
    engine.count(),
    consumer.pending(),
    countDeadLetters(),
  ]);
  return { documents, pendingEvents, deadLetters };
}
