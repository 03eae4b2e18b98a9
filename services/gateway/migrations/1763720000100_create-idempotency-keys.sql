create table idempotency_key (
  hash bytea primary key check (octet_length(hash) = 32),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  attempt uuid not null,
  leased_until timestamptz(3) not null,
  created_at timestamptz(3) not null,
  status smallint,
  headers jsonb,
  body bytea,
  check ((status is null) = (headers is null) and (status is null) = (body is null))
);
create index idempotency_key_created_at_idx on idempotency_key (created_at);
