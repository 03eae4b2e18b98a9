import { findS3Server } from './s3-server-program.ts';

// Starts with a whole test run, so that tests that need the server do not wait for its build.
const ending = new AbortController();
process.once('SIGTERM', () => ending.abort());
try {
  await findS3Server({ signal: ending.signal });
} catch {
  // The tests that need it try again and report the reason.
  process.exitCode = 1;
}
