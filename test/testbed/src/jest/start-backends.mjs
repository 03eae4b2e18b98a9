import { openPostgres } from '../postgres.ts';

/** Jest's workers inherit the environment that is set here. */
export default async function startBackends() {
  const postgres = await openPostgres(process.env.TEST_DATABASE_URL);
  process.env.TEST_DATABASE_URL = postgres.url;
  globalThis.stopTestPostgres = postgres.stop;
}
