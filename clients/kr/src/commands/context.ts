import type { ApiClient } from '../api/api-client.ts';
import type { Settings } from '../settings/settings.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** What a command works with. */
export interface CommandContext {
  terminal: Terminal;
  /** The REST API as configured; looked up when first needed. */
  connect(): Promise<ApiClient>;
}

export type ConnectTo = (settings: Settings) => ApiClient;
