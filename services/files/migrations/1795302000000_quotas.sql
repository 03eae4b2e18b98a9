alter table bucket add column owner_id text;
create index bucket_owner on bucket (owner_id) where owner_id is not null;

create table reservation (
  id uuid primary key,
  entity_id text not null,
  bytes bigint not null check (bytes >= 0),
  expires_at timestamptz(3) not null
);
create index reservation_entity on reservation (entity_id);
create index reservation_expires on reservation (expires_at);
