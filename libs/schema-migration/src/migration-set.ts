/** A sequence of migrations with a memory of its own: a lib that brings tables is one, a service is another. */
export interface MigrationSet {
  /** Lower case letters and `_`; names the tracking table `migrations_<name>`. Never changes. */
  name: string;
  /** Absolute path of a folder of `<timestamp>_<name>.sql` files; other files in it are ignored. */
  directory: string;
}
