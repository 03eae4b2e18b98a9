import { Client } from '@elastic/elasticsearch';
import type { ElasticsearchConfig } from '../../config.ts';
import { indexNames } from './live-index.ts';

export interface ElasticsearchCheck {
  /** @throws Error when Elasticsearch does not answer in time, or the index that is searched is not there */
  check(): Promise<void>;
  stop(): Promise<void>;
}

/** Less than a health check may take. */
const CHECK_TIMEOUT_MS = 1_500;

/** Asks on a connection of its own: searches and writes may be waiting for theirs. */
export function elasticsearchCheck({ url, login, indexPrefix }: ElasticsearchConfig): ElasticsearchCheck {
  const client = new Client({
    node: url.href,
    ...(login === null ? {} : { auth: login }),
    maxRetries: 0,
    agent: { connections: 1 },
    requestTimeout: CHECK_TIMEOUT_MS,
  });
  const { live } = indexNames(indexPrefix);
  return {
    check: async () => {
      if (!(await client.indices.existsAlias({ name: live }))) throw new Error(`there is no ${live}`);
    },
    stop: () => client.close(),
  };
}
