-- Saves of restricted packages whose drafts may still be open: nothing is published before they are closed.
create table pending_restriction (
  package_id text not null,
  attempt uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (package_id, attempt)
);
