import type { ApiClient } from '../api/api-client.ts';
import type { LinkedService, Settings } from '../settings/settings.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The environment of a command. */
export interface CommandContext {
  terminal: Terminal;
  /** The REST API as configured, or of the service that a link names; looked up when first needed. */
  connect(link?: LinkedService): Promise<ApiClient>;
}

export type ConnectTo = (settings: Settings) => ApiClient;

/** Options of all commands for operators. */
export interface AdminOptions {
  json: boolean;
  /** Folders of systems; the first that has one counts. */
  dataDirs: readonly string[];
}
