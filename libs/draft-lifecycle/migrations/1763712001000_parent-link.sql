-- The access links of a parent as the events told them, revoked ones included, so that late news changes nothing.
create table parent_link (
  link_id text primary key,
  parent_id text not null references parent (id) on delete cascade,
  revision bigint not null,
  is_revoked boolean not null,
  position bigint generated always as identity
);
create index parent_link_of on parent_link (parent_id);
