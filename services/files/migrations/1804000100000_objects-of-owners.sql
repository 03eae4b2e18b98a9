-- What the check of the counters adds up, and what a full quota tells of replaced and deleted files.
create index object_owner on object (owner_id) include (size);
create index object_owner_unreferenced on object (owner_id) include (size, unreferenced_at) where unreferenced_at is not null;
create index object_without_owner on object (id) where owner_id is null;
