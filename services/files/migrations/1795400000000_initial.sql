-- The files of one version of an entity.
create table bucket (
  entity_id text primary key,
  id uuid not null unique,
  state text not null check (state in ('open', 'sealed', 'immutable', 'removed')),
  owner_id text,
  publication_id text,
  sealed_at timestamptz(3),
  revision bigint not null default 0,
  updated_at timestamptz(3) not null,
  check ((state = 'sealed') = (publication_id is not null)),
  check ((state = 'sealed') = (sealed_at is not null))
);
create index bucket_sealed on bucket (publication_id) where state = 'sealed';
create index bucket_removed on bucket (updated_at) where state = 'removed';
create index bucket_owner on bucket (owner_id) where owner_id is not null;

-- Bytes in the store. Several entries may refer to one object.
create table object (
  id uuid primary key,
  owner_id text,
  size bigint not null check (size >= 0),
  md5 text not null check (md5 ~ '^[0-9a-f]{32}$'),
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  crc32 bigint not null check (crc32 between 0 and 4294967295),
  width integer,
  height integer,
  created_at timestamptz(3) not null,
  unreferenced_at timestamptz(3),
  verified_at timestamptz(3),
  damage text check (damage in ('corrupt', 'missing', 'unreadable')),
  damaged_at timestamptz(3),
  check ((damage is null) = (damaged_at is null))
);
create index object_unreferenced on object (unreferenced_at) where unreferenced_at is not null;
create index object_damaged on object (id) where damage is not null;
-- For the check of the usage counters, and for the replaced and deleted files that a full quota reports.
create index object_owner on object (owner_id) include (size);
create index object_owner_unreferenced on object (owner_id) include (size, unreferenced_at) where unreferenced_at is not null;

create table entry (
  entity_id text not null references bucket (entity_id) on delete cascade,
  key text not null,
  position integer not null,
  state text not null check (state in ('pending', 'completed')),
  metadata text,
  object_id uuid references object (id),
  version_id uuid,
  mimetype text,
  -- The call that created it, so that a repeated call is recognised.
  creation_key bytea check (octet_length(creation_key) = 32),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (entity_id, key),
  unique (entity_id, position),
  check (state = 'pending' or object_id is not null),
  check ((object_id is null) = (version_id is null)),
  check ((object_id is null) = (mimetype is null))
);
create index entry_object on entry (object_id);

-- Sets the time from which an object is unreferenced. If its last two references are deleted together, the
-- collection sets it.
create function mark_unreferenced() returns trigger language plpgsql as $$
begin
  update object set unreferenced_at = now() where id in (
    select id from object
    where id = old.object_id and unreferenced_at is null
      and not exists (select from entry where object_id = old.object_id)
    for update skip locked);
  return null;
end $$;
create trigger entry_deleted after delete on entry for each row
  when (old.object_id is not null) execute function mark_unreferenced();
create trigger entry_replaced after update of object_id on entry for each row
  when (old.object_id is not null and old.object_id is distinct from new.object_id)
  execute function mark_unreferenced();

-- The part that this service has in a publication.
create table participant (
  publication_id text primary key,
  state text not null check (state in ('new', 'prepared', 'applied', 'aborted')),
  epoch integer not null,
  updated_at timestamptz(3) not null
);

-- tus uploads.
create table upload (
  id uuid primary key,
  entity_id text not null,
  key text not null,
  owner_id text,
  length bigint check (length >= 0),
  received bigint not null default 0 check (received >= 0 and received <= length),
  reserved bigint not null default 0 check (reserved >= 0),
  metadata text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  finished_at timestamptz(3),
  lease_holder uuid,
  lease_until timestamptz(3),
  is_requested boolean not null default false,
  unique (entity_id, key),
  foreign key (entity_id, key) references entry (entity_id, key) on delete cascade,
  check (finished_at is null or received = length),
  check ((lease_holder is null) = (lease_until is null))
);
create index upload_expires on upload (expires_at);
create index upload_owner on upload (owner_id) where owner_id is not null;

-- Room for the bytes of a PUT that is running.
create table reservation (
  id uuid primary key,
  entity_id text not null,
  owner_id text,
  bytes bigint not null check (bytes >= 0),
  expires_at timestamptz(3) not null
);
create index reservation_entity on reservation (entity_id);
create index reservation_expires on reservation (expires_at);
create index reservation_owner on reservation (owner_id) where owner_id is not null;

-- Limits that an operator has set for single users.
create table quota (
  owner_id text primary key,
  max_bytes bigint not null check (max_bytes >= 0),
  updated_at timestamptz(3) not null
);

-- The bytes that each owner has stored and reserved. Triggers keep it in the transaction of each change, so that no upload has
-- to add up the files of its owner.
create table owner_usage (
  owner_id text primary key,
  bytes bigint not null
);

-- A finished upload counts as the object that its bytes became.
create function upload_usage(one upload) returns bigint immutable language sql as $$
  select case when one.finished_at is null then greatest(coalesce(one.length, one.reserved), one.received) else 0 end
$$;

create function change_owner_usage(owner text, difference bigint) returns void language sql as $$
  insert into owner_usage as usage (owner_id, bytes)
  select owner, difference where owner is not null and difference <> 0
  on conflict (owner_id) do update set bytes = usage.bytes + excluded.bytes
$$;

create function count_added_objects() returns trigger language plpgsql as $$
begin
  insert into owner_usage as usage (owner_id, bytes)
  select owner_id, sum(size) from added where owner_id is not null group by owner_id order by owner_id
  on conflict (owner_id) do update set bytes = usage.bytes + excluded.bytes;
  return null;
end $$;
create trigger object_added after insert on object referencing new table as added
  for each statement execute function count_added_objects();

create function count_removed_objects() returns trigger language plpgsql as $$
begin
  -- In one order, so that two collections do not wait for each other.
  perform from owner_usage where owner_id in (select owner_id from removed) order by owner_id for update;
  update owner_usage usage set bytes = usage.bytes - gone.bytes
  from (select owner_id, sum(size) as bytes from removed group by owner_id) gone
  where gone.owner_id = usage.owner_id;
  return null;
end $$;
create trigger object_removed after delete on object referencing old table as removed
  for each statement execute function count_removed_objects();

create function count_reservation() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then perform change_owner_usage(old.owner_id, -old.bytes); end if;
  if tg_op <> 'DELETE' then perform change_owner_usage(new.owner_id, new.bytes); end if;
  return null;
end $$;
create trigger reservation_changed after insert or delete or update of bytes, owner_id on reservation
  for each row execute function count_reservation();

create function count_upload() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.owner_id is not distinct from old.owner_id then
    perform change_owner_usage(new.owner_id, upload_usage(new) - upload_usage(old));
    return null;
  end if;
  if tg_op <> 'INSERT' then perform change_owner_usage(old.owner_id, -upload_usage(old)); end if;
  if tg_op <> 'DELETE' then perform change_owner_usage(new.owner_id, upload_usage(new)); end if;
  return null;
end $$;
create trigger upload_changed after insert or delete or update of length, received, reserved, finished_at, owner_id on upload
  for each row execute function count_upload();

-- Grants bytes to the upload `for_id` of one file: null if less than `needed` is left of one of the limits, else at most `requested`.
-- The upload itself and the file that it replaces do not count against the limits. Locks the owner's counter until the transaction
-- ends, so that two uploads never get the same bytes.
create function grant_bytes(for_entity text, for_key text, for_id uuid, needed bigint, requested bigint,
  entity_limit bigint, default_user_limit bigint, at_time timestamptz)
returns table (owner_id text, left_of_entity bigint, left_of_user bigint, user_limit bigint, granted bigint)
language plpgsql as $$
begin
  select b.owner_id into owner_id from bucket b where b.entity_id = for_entity;
  if owner_id is not null then
    insert into owner_usage as usage (owner_id, bytes) values (grant_bytes.owner_id, 0)
    on conflict on constraint owner_usage_pkey do update set bytes = usage.bytes;
  end if;
  -- Separate statements: they see what the previous holder of the lock has committed.
  select coalesce((select q.max_bytes from quota q where q.owner_id = grant_bytes.owner_id), default_user_limit)
  into user_limit;
  select greatest(0, entity_limit
    - (select coalesce(sum(o.size), 0) from object o where o.id in (
        select e.object_id from entry e where e.entity_id = for_entity and e.key <> for_key))
    - (select coalesce(sum(r.bytes), 0) from reservation r
        where r.entity_id = for_entity and r.id <> for_id and r.expires_at > at_time)
    - (select coalesce(sum(upload_usage(u)), 0) from upload u
        where u.entity_id = for_entity and u.key <> for_key and u.expires_at > at_time))
  into left_of_entity;
  select greatest(0, user_limit
    - coalesce((select counter.bytes from owner_usage counter where counter.owner_id = grant_bytes.owner_id), 0)
    + (select coalesce(sum(r.bytes), 0) from reservation r
        where r.owner_id = grant_bytes.owner_id and (r.id = for_id or r.expires_at <= at_time))
    + (select coalesce(sum(upload_usage(u)), 0) from upload u
        where u.id = for_id and u.owner_id = grant_bytes.owner_id))
  into left_of_user;
  if needed <= least(left_of_entity, left_of_user) then
    granted := least(requested, left_of_entity, left_of_user);
  end if;
  return next;
end $$;

-- Fixity checks read every object again and compare it with its checksums; at most one is open.
create table fixity_check (
  id bigint primary key generated always as identity,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3),
  is_unthrottled boolean not null,
  position uuid not null default '00000000-0000-0000-0000-000000000000',
  objects bigint not null default 0,
  bytes bigint not null default 0,
  damaged bigint not null default 0,
  lease_holder uuid,
  lease_until timestamptz(3),
  check ((lease_holder is null) = (lease_until is null)),
  check (finished_at is null or lease_holder is null)
);
create unique index fixity_check_open on fixity_check ((true)) where finished_at is null;

-- The id that is also written into the store, so that an unmounted disk is not taken for an empty store.
create table store_identity (
  id uuid primary key,
  is_only boolean not null default true unique check (is_only),
  claimed_at timestamptz(3)
);
