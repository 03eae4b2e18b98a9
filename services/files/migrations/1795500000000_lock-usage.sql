-- The bytes that count against the limits of an upload, without the upload's own ones and without those of the file that it
-- replaces. Locks the owner's counter until the transaction ends, so that two uploads never reserve the same bytes.
create function lock_usage(for_entity text, for_key text, for_id uuid, at_time timestamptz)
returns table (owner_id text, entity_bytes bigint, user_bytes bigint, user_limit bigint) language plpgsql as $$
declare
  owner text;
begin
  select b.owner_id into owner from bucket b where b.entity_id = for_entity;
  if owner is not null then
    insert into owner_usage as usage (owner_id, bytes) values (owner, 0)
    on conflict on constraint owner_usage_pkey do update set bytes = usage.bytes;
  end if;
  -- A separate statement: it sees what the previous holder of the lock has committed.
  return query select
    owner,
    ((select coalesce(sum(o.size), 0) from object o where o.id in (
        select e.object_id from entry e where e.entity_id = for_entity and e.key <> for_key))
      + (select coalesce(sum(r.bytes), 0) from reservation r
        where r.entity_id = for_entity and r.id <> for_id and r.expires_at > at_time)
      + (select coalesce(sum(upload_usage(u)), 0) from upload u
        where u.entity_id = for_entity and u.key <> for_key and u.expires_at > at_time))::bigint,
    (coalesce((select counter.bytes from owner_usage counter where counter.owner_id = owner), 0)
      - (select coalesce(sum(r.bytes), 0) from reservation r
        where r.owner_id = owner and (r.id = for_id or r.expires_at <= at_time))
      - (select coalesce(sum(upload_usage(u)), 0) from upload u where u.id = for_id and u.owner_id = owner))::bigint,
    (select q.max_bytes from quota q where q.owner_id = owner);
end $$;
