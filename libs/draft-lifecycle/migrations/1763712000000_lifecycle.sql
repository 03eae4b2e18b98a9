create table parent (
  id text primary key,
  owner_id text not null,
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
  constraint version_index_of_parent unique (parent_id, version_index),
  check (visible = (document is not null)),
  check (num_nulls(publication_id, staged, staged_revision, staged_at) in (0, 4)),
  check (num_nulls(created_at, updated_at) = case when visible then 0 else 2 end)
);
-- At most one version of an entity is on its way.
create unique index version_unpublished on version (parent_id) where not visible;
create index version_publication on version (publication_id) where publication_id is not null;
create index version_published_doi on version ((document -> 'pids' -> 'doi' ->> 'identifier'))
  where document -> 'pids' -> 'doi' is not null;

create table draft (
  id text primary key references version (id),
  document jsonb not null,
  issues jsonb not null default '[]',
  revision bigint not null,
  locked_by text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index draft_locked on draft (locked_by) where locked_by is not null;
create index draft_doi on draft ((document -> 'pids' -> 'doi' ->> 'identifier'))
  where document -> 'pids' -> 'doi' is not null;

create table participant (
  publication_id text primary key,
  state text not null check (state in ('prepared', 'refused', 'aborted', 'applied')),
  epoch integer not null,
  package_id text not null default '',
  package_parent_id text not null default '',
  staged_ids text[] not null default '{}',
  unchanged_ids text[] not null default '{}',
  issues jsonb not null default '[]',
  updated_at timestamptz(3) not null
);
create index participant_prepared on participant (updated_at) where state = 'prepared';

