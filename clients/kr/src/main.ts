#!/usr/bin/env node
import { run } from './run.ts';
import { createTerminal } from './terminal/terminal.ts';

// A reader such as `head` may have enough before we are done.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const terminal = createTerminal(process.stdout, process.stderr);
process.exitCode = await run(process.argv.slice(2), { terminal, env: process.env, cwd: process.cwd() });
