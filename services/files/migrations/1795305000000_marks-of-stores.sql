create table store_mark (
  id uuid primary key,
  is_only boolean not null default true unique check (is_only),
  marked_at timestamptz(3)
);
