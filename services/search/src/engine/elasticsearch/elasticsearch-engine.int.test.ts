import { describe, test } from '@jest/globals';
import { openElasticsearch } from '@kr/testbed';
import { describeSearchEngine } from '../testing/search-engine.contract.ts';
import { anElasticsearchEngine } from './testing/an-elasticsearch-engine.ts';

const elasticsearch = await openElasticsearch();
if ('missing' in elasticsearch) test.skip(`Elasticsearch (${elasticsearch.missing})`, () => {});
else
  describe('on a real one', () =>
    describeSearchEngine('Elasticsearch', () => anElasticsearchEngine(elasticsearch)));
