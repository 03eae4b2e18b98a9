import type { PartName } from '@kr/local-stack';
import type { TestSystem } from '../start-system.ts';

/** A system while one test file uses it. */
export interface Lease
  extends Pick<
    TestSystem,
    'baseUrl' | 'databaseUrls' | 'environments' | 'natsUrl' | 'logDir' | 'filesDir' | 'user' | 'token'
  > {
  id: string;
}

export interface UserToCreate {
  /** Of the lease. */
  id: string;
  name: string;
  isAdmin: boolean;
}

export interface Restart {
  /** Of the lease. */
  id: string;
  part: PartName;
  /** As `relaunch` of the system has them. */
  further: Record<string, string>[];
}

export interface Release {
  id: string;
  /** Whether the test file killed or restarted processes. */
  hasKilled: boolean;
}
