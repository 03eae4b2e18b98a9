create table upload (
  id uuid primary key,
  entity_id text not null,
  key text not null,
  length bigint check (length >= 0),
  received bigint not null default 0 check (received >= 0 and received <= length),
  metadata text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  finished_at timestamptz(3),
  lease_holder uuid,
  lease_until timestamptz(3),
  is_wanted boolean not null default false,
  unique (entity_id, key),
  foreign key (entity_id, key) references entry (entity_id, key) on delete cascade,
  check (finished_at is null or received = length),
  check ((lease_holder is null) = (lease_until is null))
);
create index upload_expires on upload (expires_at);
