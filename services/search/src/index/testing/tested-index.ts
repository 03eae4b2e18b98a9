import type pg from 'pg';
import { type Deadline, deadlineIn } from '../../engine/deadline.ts';
import type { EngineAnswer, EngineSearch, EngineSuggest, Suggestion } from '../../engine/search-engine.ts';
import type { SearchIndex } from '../search-index.ts';

/** An index whose searches have the configured time by default. */
export interface PatientIndex extends Omit<SearchIndex, 'search' | 'suggest'> {
  search(search: EngineSearch, deadline?: Deadline): Promise<EngineAnswer>;
  suggest(suggest: EngineSuggest, deadline?: Deadline): Promise<readonly Suggestion[]>;
}

export interface TestedIndex {
  index: PatientIndex;
  /** Removes every document. */
  clear(): Promise<void>;
  /** Deletes one generation as an operator would, without the index. */
  deleteGeneration(id: string): Promise<void>;
  stop(): Promise<void>;
}

export function withTimeout(index: SearchIndex, searchTimeoutMs: number): PatientIndex {
  return {
    ...index,
    search: (search, deadline = deadlineIn(searchTimeoutMs)) => index.search(search, deadline),
    suggest: (suggest, deadline = deadlineIn(searchTimeoutMs)) => index.suggest(suggest, deadline),
  };
}

/** Builds the whole index from these entities, none by default. */
export async function fill(
  index: SearchIndex,
  entities: Parameters<SearchIndex['build']>[1] = [],
): Promise<void> {
  const id = await index.startBuild();
  await index.build(id, entities);
  await index.finishBuild(id);
}

/** From now on the statements of a connection mean the tables of the live generation. */
export async function useLiveTables(connection: Pick<pg.ClientBase, 'query'>): Promise<void> {
  await connection.query(
    `SELECT set_config('search_path', 'index_' || generation || ', public', false) FROM index_state`,
  );
}
