-- Published entities that an administrator has removed: a tombstone instead of the document, until it is restored. After the
-- retention the files are purged, and there is no way back.
alter table version
  add column removed_at timestamptz(3),
  add column removal jsonb,
  add column purged_at timestamptz(3),
  add check ((removed_at is null) = (removal is null)),
  add check (purged_at is null or removed_at is not null);
create index version_removed on version (removed_at, id) where removed_at is not null;
