import './child/settle-after-start.ts';
import { start } from './cli/start.ts';

await start(process.argv.slice(2));
