import { startWhenWanted } from './open-elasticsearch.ts';

// Runs beside a whole test run, and the server with it: Jest replaces workers that have grown large.
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('the folder of the server is not given');
const run = process.ppid;
// Not every system ends a process with its parent.
setInterval(() => process.ppid === run || process.exit(), 5_000);
await startWhenWanted(folder);
