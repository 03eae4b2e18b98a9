export { freePort } from '@kr/local-stack/backends';
export { openChromium } from './browser/open-chromium.ts';
export { type DataciteServer, startDatacite } from './datacite/datacite-server.ts';
export { type GuardedElasticsearch, guardElasticsearch } from './elasticsearch/guarded-elasticsearch.ts';
export {
  type MissingElasticsearch,
  openElasticsearch,
  type TestElasticsearch,
} from './elasticsearch/open-elasticsearch.ts';
export { expireEvents } from './expire-events.ts';
export type { Cut, Direction, Fault } from './faults/fault.ts';
export { type FaultLog, openFaultLog } from './faults/fault-log.ts';
export { FaultProxy, type FaultProxyOptions, type Watcher } from './faults/fault-proxy.ts';
export { oneOf, seededRandom } from './faults/seeded-random.ts';
export { makeTrouble, type Trouble, troublesOf } from './faults/troubles.ts';
export { type FreshDatabase, freshDatabase } from './fresh-database.ts';
export { findGoProgram } from './go-program.ts';
export { startNats, type TestNats } from './nats.ts';
export { type OtlpCollector, type SentSpan, startOtlpCollector } from './otlp-collector.ts';
export { openPython } from './python/open-python.ts';
export { type MissingS3, openS3, type S3Access, type TestBucket, type TestS3 } from './s3/open-s3.ts';
export { until } from './until.ts';
