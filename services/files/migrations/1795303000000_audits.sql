alter table object
  add column verified_at timestamptz(3),
  add column damage text check (damage in ('different', 'missing', 'unreadable')),
  add column damaged_at timestamptz(3),
  add check ((damage is null) = (damaged_at is null));
create index object_damaged on object (id) where damage is not null;

create table audit (
  id bigint primary key generated always as identity,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3),
  is_hurried boolean not null,
  position uuid not null default '00000000-0000-0000-0000-000000000000',
  objects bigint not null default 0,
  bytes bigint not null default 0,
  damaged bigint not null default 0,
  lease_holder uuid,
  lease_until timestamptz(3),
  check ((lease_holder is null) = (lease_until is null)),
  check (finished_at is null or lease_holder is null)
);
create unique index audit_open on audit ((true)) where finished_at is null;
