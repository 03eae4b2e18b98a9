import { findS3Server } from './s3-server-program.ts';

// Runs beside a whole test run from its beginning, so that the tests that need the server need not wait for it.
const ending = new AbortController();
process.once('SIGTERM', () => ending.abort());
try {
  await findS3Server({ signal: ending.signal });
} catch {
  // The tests that need it try once more, and say why there is none.
  process.exitCode = 1;
}
