import { SERVICES, type ServiceName } from '@kr/local-stack';
import { until } from '@kr/testbed';
import type { TestSystem } from '@kr/testbed/system';
import { Pool } from 'pg';
import { searchSchema } from '../../e2e/story/search-tables.ts';

/** The contents of the databases of a system, regardless of the API. */
export interface Databases {
  pool(service: ServiceName): Pool;
  /** Waits until nothing is under way: no lock, nothing staged or sealed, no event unsent, the index as the services. */
  atRest(): Promise<void>;
  /** Reasons why it is not at rest. */
  underWay(): Promise<string[]>;
  /** Events published more often than they happened, and dead letters. */
  offences(): Promise<string[]>;
  close(): Promise<void>;
}

const LIFECYCLE = `
  select 'locked draft ' || id as what from draft where locked_by is not null
  union all select 'staged ' || id from version where publication_id is not null
  union all select 'prepared ' || publication_id from participant where state = 'prepared'`;

/** Temporary rows, which must disappear. */
const UNDER_WAY: Partial<Record<ServiceName, string>> = {
  packages: `${LIFECYCLE}
    union all select 'open publication ' || id from publication where state not in ('DONE', 'ABORT_DONE')`,
  records: LIFECYCLE,
  files: `
    select 'sealed bucket ' || entity_id as what from bucket where state = 'sealed'
    union all select 'open fence ' || publication_id from participant where state in ('new', 'prepared')`,
};

const UNSENT = `select 'unsent ' || subject || ' ' || aggregate_id as what from outbox where published_at is null`;

// Nothing is published twice here.
const REPEATED = `
  select 'announced ' || count(*) || ' times: ' || subject || ' ' || aggregate_id as what
  from outbox where subject like '%.published' or subject like '%.completed'
  group by subject, aggregate_id having count(*) > 1`;
const UNANNOUNCED = `
  select 'never announced: ' || v.id as what from version v
  where visible and not exists (select from outbox o where o.aggregate_id = v.id and o.subject like '%.published')`;
const GIVEN_UP = `select 'given up by ' || consumer || ': ' || subject as what from dead_letter`;

const EMITTERS = ['packages', 'records', 'files', 'access-links'] as const;
const CONSUMERS = ['packages', 'records', 'files', 'search'] as const;

const FORMS = `
  select id || ' published ' || revision as what from version where visible
  union all select id || ' draft ' || revision from draft`;
const indexedIn = (schema: string) => `
  select id || ' ' || form || ' ' || revision as what from ${schema}.index_document where deleted_at is null`;

export function databasesOf({ databaseUrls }: Pick<TestSystem, 'databaseUrls'>): Databases {
  const pools = new Map(
    SERVICES.map((service) => {
      const pool = new Pool({ connectionString: databaseUrls[service], max: 2 });
      // A server that goes away is met at the next question.
      pool.on('error', () => undefined);
      return [service, pool] as const;
    }),
  );
  const pool = (service: ServiceName): Pool => {
    const found = pools.get(service);
    if (found === undefined) throw new Error(`no database of ${service}`);
    return found;
  };
  const ask = async (service: ServiceName, query: string): Promise<string[]> => {
    const { rows } = await pool(service).query<{ what: string }>(query);
    return rows.map(({ what }) => `${service}: ${what}`);
  };
  const askAll = async (services: readonly ServiceName[], query: string): Promise<string[]> =>
    (await Promise.all(services.map((service) => ask(service, query)))).flat();

  const underWay = async (): Promise<string[]> => {
    const asked = Object.entries(UNDER_WAY).map(([service, query]) => ask(service as ServiceName, query));
    const found = (await Promise.all([...asked, askAll(EMITTERS, UNSENT)])).flat();
    return found.length > 0 ? found : indexDrift();
  };
  const indexDrift = async (): Promise<string[]> => {
    const [packages, records, index] = await Promise.all([
      pool('packages').query<{ what: string }>(FORMS),
      pool('records').query<{ what: string }>(FORMS),
      pool('search').query<{ what: string }>(indexedIn(await searchSchema(pool('search')))),
    ]);
    const forms = [...packages.rows, ...records.rows].map(({ what }) => what);
    const indexed = index.rows.map(({ what }) => what);
    return inOneOnly(forms, indexed).map((what) => `index: ${what}`);
  };

  return {
    pool,
    underWay,
    async atRest() {
      let left: string[] = [];
      const isQuiet = async () => {
        left = await underWay();
        return left.length === 0;
      };
      await until(isQuiet, { everyMs: 200 }).catch((cause: unknown) => {
        throw new Error(`not at rest: ${left.slice(0, 10).join('; ')}`, { cause });
      });
    },
    offences: async () => [
      ...(await askAll(EMITTERS, REPEATED)),
      ...(await askAll(['packages', 'records'], UNANNOUNCED)),
      ...(await askAll(CONSUMERS, GIVEN_UP)),
    ],
    close: async () => {
      await Promise.all([...pools.values()].map((one) => one.end()));
    },
  };
}

/** Elements of only one of the two lists. */
export function inOneOnly(some: readonly string[], others: readonly string[]): string[] {
  const [left, right] = [new Set(some), new Set(others)];
  return [...some.filter((one) => !right.has(one)), ...others.filter((one) => !left.has(one))];
}
