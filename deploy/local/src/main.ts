import './child/release-memory-when-idle.ts';
import { start } from './cli/start.ts';

await start(process.argv.slice(2));
