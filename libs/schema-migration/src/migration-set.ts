/** A sequence of migrations with a separate table of applied files, for example of a lib or of a service. */
export interface MigrationSet {
  /** Lower case letters and `_`; names the tracking table `migrations_<name>`. Never changes. */
  name: string;
  /** Absolute path of a folder of `<timestamp>_<name>.sql` files; other files in it are ignored. */
  directory: string;
}
