-- No token and no hash of one: a token is derived from the id, the nonce and a key that is not in the database.
create table access_link (
  id uuid primary key,
  -- Links are listed in the order they were made.
  position bigint generated always as identity,
  parent_id text not null,
  permission text not null check (permission in ('view', 'preview', 'edit')),
  expires_at timestamptz(3),
  nonce text not null,
  key_id text not null,
  created_by text,
  created_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  revision bigint not null default 1,
  -- Identifies the creation, so that a repeated request makes no second link.
  creation_key bytea check (octet_length(creation_key) = 32)
);
create index access_link_parent on access_link (parent_id, position) where revoked_at is null;
create unique index access_link_creation on access_link (creation_key);
