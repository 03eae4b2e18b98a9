-- What each owner has stored and reserved, in bytes. Triggers keep it in the transaction of each change, so that no
-- upload has to add up the files of its owner.
create table owner_usage (
  owner_id text primary key,
  bytes bigint not null
);
alter table object add column owner_id text;
alter table reservation add column owner_id text;
alter table upload add column owner_id text, add column reserved bigint not null default 0 check (reserved >= 0);
create index reservation_owner on reservation (owner_id) where owner_id is not null;
create index upload_owner on upload (owner_id) where owner_id is not null;

update object set owner_id = (
  select min(b.owner_id) from entry e join bucket b on b.entity_id = e.entity_id where e.object_id = object.id);
update reservation r set owner_id = b.owner_id from bucket b where b.entity_id = r.entity_id;
update upload u set owner_id = b.owner_id from bucket b where b.entity_id = u.entity_id;

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
  -- In one order, so that two sweeps do not wait for each other.
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

insert into owner_usage (owner_id, bytes)
select owner_id, sum(bytes) from (
  select owner_id, size as bytes from object
  union all select owner_id, bytes from reservation
  union all select owner_id, upload_usage(upload) from upload
) counted where owner_id is not null group by owner_id;
