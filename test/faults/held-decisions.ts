import { Client } from 'pg';

/** Any number that is otherwise unused in that database. */
const GATE = 4_070_001;

const BUILD_GATE = `
  create or replace function wait_at_gate() returns trigger language plpgsql as $$
  begin
    perform pg_advisory_xact_lock_shared(${GATE});
    return new;
  end $$;
  create or replace trigger gate before update of state on publication
    for each row when (new.state = 'COMMITTED') execute function wait_at_gate()`;

const AT_GATE = "select from pg_locks where locktype = 'advisory' and objid = $1 and not granted";

export interface HeldDecisions {
  /** How many publications have every vote and wait to be decided. */
  waiting: () => Promise<number>;
  letGo: () => Promise<void>;
}

/**
 * From now on publications stop at the commit point: everything is prepared and locked, nothing
 * is decided, and all services are there to answer.
 */
export async function holdDecisions(packagesDatabaseUrl: string): Promise<HeldDecisions> {
  const client = new Client({ connectionString: packagesDatabaseUrl });
  await client.connect();
  await client.query(BUILD_GATE);
  await client.query('select pg_advisory_lock($1)', [GATE]);
  return {
    waiting: async () => (await client.query(AT_GATE, [GATE])).rowCount ?? 0,
    // The lock is the session's.
    letGo: () => client.end(),
  };
}
