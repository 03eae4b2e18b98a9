import { randomUUID } from 'node:crypto';
import type { Scope } from './scope.ts';

/** The permission of one access link on the entity's parent, so on all its versions. */
export interface LinkGrant {
  linkId: string;
  parentId: string;
  permission: 'view' | 'preview' | 'edit';
}

/** The caller, as authenticated by the gateway. */
export interface Principal {
  /** Null for an anonymous caller and for a service. */
  userId: string | null;
  /** A user who operates the system, by a token that is good for that. */
  isAdmin: boolean;
  /** Of a user: what the token at hand is good for besides reading. */
  scopes: readonly Scope[];
  /** Of a user: the id of the personal access token at hand; missing when it was another credential. */
  tokenId?: string;
  /** The presented access links that are valid now. */
  grants: readonly LinkGrant[];
  /** The name of a service that acts on its own behalf; null for people. */
  service: string | null;
  /** One id for everything done because of one outer request. */
  requestId: string;
}

/** A caller without credentials. */
export function anonymous(requestId: string): Principal {
  return { userId: null, isAdmin: false, scopes: [], grants: [], service: null, requestId };
}

/** A service doing its own work: consuming events, finishing publications. */
export function servicePrincipal(service: string, requestId: string = randomUUID()): Principal {
  return { userId: null, isAdmin: false, scopes: [], grants: [], service, requestId };
}
