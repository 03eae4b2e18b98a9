import type { SearchEngine } from '../search-engine.ts';

export interface TestedEngine {
  engine: SearchEngine;
  /** Removes every document. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}
