create table quota (
  owner_id text primary key,
  max_bytes bigint not null check (max_bytes >= 0),
  updated_at timestamptz(3) not null
);
