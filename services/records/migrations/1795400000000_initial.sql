create table package_version (
  package_id text primary key,
  revision bigint not null default 0,
  is_published boolean not null default false,
  -- The last restriction of the package that its resources took; earlier ones change nothing.
  restriction_revision bigint not null default 0
);

create table packaged_record (
  package_id text not null references package_version (package_id),
  record_id text not null,
  added_at timestamptz(3) not null,
  primary key (package_id, record_id)
);
create index packaged_record_of on packaged_record (record_id);
