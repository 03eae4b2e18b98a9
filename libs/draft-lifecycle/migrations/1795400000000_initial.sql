-- State shared by all versions of an entity.
create table parent (
  id text primary key,
  owner_id text not null,
  -- The parent of the package that manages a resource.
  managed_by text,
  managed_at timestamptz(3),
  was_managed boolean not null default false,
  link_ids text[] not null default '{}',
  created_at timestamptz(3) not null,
  check ((managed_by is null) = (managed_at is null))
);
create index parent_owner on parent (owner_id);
create index parent_managed on parent (managed_by, managed_at, id) where managed_by is not null;

create table version (
  id text primary key,
  parent_id text not null references parent (id),
  version_index integer not null check (version_index > 0),
  visible boolean not null default false,
  document jsonb,
  revision bigint not null default 0,
  draft_revision bigint not null default 0,
  created_at timestamptz(3),
  updated_at timestamptz(3),
  publication_id text,
  staged jsonb,
  staged_revision bigint,
  staged_at timestamptz(3),
  -- The size of the document as text, so that readers know what a page weighs before they load it.
  document_bytes integer generated always as (octet_length(document::text)) stored,
  -- Set while an administrator has removed the published form: a tombstone is shown instead, until it is restored.
  removed_at timestamptz(3),
  removal jsonb,
  -- Set when the files were deleted after the retention; there is no way back.
  purged_at timestamptz(3),
  constraint version_index_of_parent unique (parent_id, version_index),
  check (visible = (document is not null)),
  check (num_nulls(publication_id, staged, staged_revision, staged_at) in (0, 4)),
  check (num_nulls(created_at, updated_at) = case when visible then 0 else 2 end),
  check ((removed_at is null) = (removal is null)),
  check (purged_at is null or removed_at is not null)
);
-- At most one unpublished version of an entity.
create unique index version_unpublished on version (parent_id) where not visible;
create index version_publication on version (publication_id) where publication_id is not null;
-- DOIs are compared without regard to case.
create index version_doi on version (lower(document -> 'pids' -> 'doi' ->> 'identifier'))
  where document -> 'pids' -> 'doi' is not null;
create index version_removed on version (removed_at, id) where removed_at is not null;

create table draft (
  id text primary key references version (id),
  document jsonb not null,
  issues jsonb not null default '[]',
  revision bigint not null,
  -- The publication that keeps it from being changed.
  locked_by text,
  -- Change number of the last update that left it restricted; 0 if there was none.
  restriction_revision bigint not null default 0,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  document_bytes integer generated always as (octet_length(document::text)) stored
);
create index draft_locked on draft (locked_by) where locked_by is not null;
create index draft_doi_locked on draft (lower(document -> 'pids' -> 'doi' ->> 'identifier'))
  where document -> 'pids' -> 'doi' is not null and locked_by is not null;

-- The part that this service has in a publication.
create table participant (
  publication_id text primary key,
  state text not null check (state in ('prepared', 'refused', 'aborted', 'applied')),
  epoch integer not null,
  package_id text not null default '',
  package_parent_id text not null default '',
  staged_ids text[] not null default '{}',
  unchanged_ids text[] not null default '{}',
  issues jsonb not null default '[]',
  -- Actor of the publication, for the audit trail.
  actor jsonb,
  updated_at timestamptz(3) not null
);
create index participant_prepared on participant (updated_at) where state = 'prepared';

-- Access links of a parent as received by events; revoked ones stay, so that a late event changes nothing.
create table parent_link (
  link_id text primary key,
  parent_id text not null references parent (id) on delete cascade,
  revision bigint not null,
  is_revoked boolean not null,
  position bigint generated always as identity
);
create index parent_link_of on parent_link (parent_id);

-- The entity that a creation made, so that a repeated request makes no second one.
create table creation (
  key bytea primary key check (octet_length(key) = 32),
  entity_id text not null references version (id) on delete cascade,
  created_at timestamptz(3) not null
);
create index creation_entity on creation (entity_id);
create index creation_created_at on creation (created_at);
