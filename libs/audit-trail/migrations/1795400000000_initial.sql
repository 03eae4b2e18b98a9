-- Audit entries, written in the transaction of the audited change.
create table audit_entry (
  position bigint primary key generated always as identity,
  id uuid not null default gen_random_uuid(),
  -- When it is written, not when its transaction began: that may have waited for others since.
  created_at timestamptz(3) not null default clock_timestamp(),
  action text not null,
  entity_id text not null,
  -- The parent shared by all versions of the entity; it may no longer exist.
  parent_id text not null,
  user_id text,
  link_ids text[] not null,
  service text,
  token_id text,
  request_id text not null,
  trace_id text,
  metadata jsonb not null,
  -- Owner of the entity, who may read the trail after its deletion.
  owner_id text check ((owner_id is not null) = (action = 'draft.delete'))
);
create index audit_entry_of_parent on audit_entry (parent_id, created_at desc, position desc);
create index audit_entry_of_gone on audit_entry (entity_id) where owner_id is not null;

-- Entries are immutable even if the application has a bug.
create function refuse_changed_audit_entry() returns trigger language plpgsql as $$
begin
  raise exception 'the audit trail is append-only: % is refused', lower(tg_op);
end $$;
create trigger audit_entry_stays before update or delete or truncate on audit_entry
  for each statement execute function refuse_changed_audit_entry();
