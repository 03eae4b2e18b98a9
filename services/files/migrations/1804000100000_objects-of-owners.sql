-- What the check of the counters adds up, and what a full quota tells of replaced and deleted files.
create index object_owner on object (owner_id) include (size);
create index object_owner_unreferenced on object (owner_id) include (size, unreferenced_at) where unreferenced_at is not null;
create index object_without_owner on object (id) where owner_id is null;

-- Since when nothing refers to an object is known at once. The sweep marks those whose last two references went together.
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
