/** Where the servers are that the services rely on. No user or password is in these addresses. */
export interface Backends {
  /** `postgres://host:port`; its query, such as `?sslmode=verify-full`, goes into every service's URL. */
  postgres: string;
  /** `nats://host:port` or `tls://…`. */
  nats: string;
}

/** Prefix of the names of databases and roles. */
export const DATABASE_PREFIX = 'kr';

/** The object store's bucket, where a deployment brings a store along. */
export const BUCKET = 'knowledge';
