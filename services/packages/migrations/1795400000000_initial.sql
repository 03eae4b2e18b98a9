create table publication (
  id uuid primary key,
  subject text not null check (subject in ('package', 'record')),
  entity_id text not null,
  package_parent_id text,
  state text not null check (state in ('PREPARING', 'COMMITTED', 'ABORTED', 'DONE', 'ABORT_DONE')),
  epoch integer not null check (epoch > 0),
  lease_until timestamptz(3) not null,
  deadline timestamptz(3) not null,
  resource_ids text[] not null,
  published_ids text[] not null default '{}',
  participants text[] not null,
  applied text[] not null default '{}',
  -- Revision that the draft of a resource alone must have; null: any.
  if_revision integer,
  snapshot jsonb not null,
  refusal jsonb,
  requested_by text not null,
  -- Actor of the publication, for the audit trail.
  actor jsonb,
  created_at timestamptz(3) not null,
  decided_at timestamptz(3),
  finished_at timestamptz(3),
  check ((state = 'PREPARING') = (decided_at is null)),
  check (refusal is null or state in ('ABORTED', 'ABORT_DONE'))
);
-- A second request to publish the same entity joins this one.
create unique index publication_active on publication (entity_id) where state = 'PREPARING';
create index publication_unfinished on publication (lease_until) where state in ('PREPARING', 'COMMITTED', 'ABORTED');
create index publication_of_entity on publication (entity_id, created_at desc);
create index publication_finished on publication (finished_at) where finished_at is not null;

-- A decision never changes, even if the code has a bug.
create function refuse_changed_decision() returns trigger language plpgsql as $$
begin
  raise exception 'publication % is %, it cannot become %', old.id, old.state, new.state;
end $$;
create trigger publication_decision before update of state on publication for each row
  when (old.state is distinct from new.state and not (
    (old.state = 'PREPARING' and new.state in ('COMMITTED', 'ABORTED'))
    or (old.state = 'COMMITTED' and new.state = 'DONE')
    or (old.state = 'ABORTED' and new.state = 'ABORT_DONE')
  ))
  execute function refuse_changed_decision();

create table package_resource (
  package_id text not null references version (id) on delete cascade,
  resource_id text not null,
  position integer not null,
  primary key (package_id, resource_id)
);
create index package_resource_of on package_resource (resource_id);

create table package_context (
  parent_id text primary key references parent (id) on delete cascade,
  record_policy text not null default 'open' check (record_policy in ('open', 'closed'))
);
