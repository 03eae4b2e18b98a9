import type { TestSystem } from '../start-system.ts';

/** A system while one test file uses it. */
export interface Lease
  extends Pick<
    TestSystem,
    'baseUrl' | 'databaseUrls' | 'natsUrl' | 'logDir' | 'filesDir' | 'user' | 'token'
  > {
  id: string;
}

export interface UserToCreate {
  /** Of the lease. */
  id: string;
  name: string;
  isAdmin: boolean;
}

export interface Release {
  id: string;
  /** Whether the test file ended processes itself. */
  hasKilled: boolean;
}
