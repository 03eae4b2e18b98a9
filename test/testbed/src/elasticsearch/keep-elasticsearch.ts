import { startWhenWanted } from '../jest/keeper.ts';
import { startElasticsearchIn } from './open-elasticsearch.ts';

await startWhenWanted(startElasticsearchIn);
