-- Which entity a creation made, so that a repeated one makes no second.
create table creation (
  key bytea primary key check (octet_length(key) = 32),
  entity_id text not null references version (id) on delete cascade,
  created_at timestamptz(3) not null
);
create index creation_entity on creation (entity_id);
create index creation_created_at on creation (created_at);
