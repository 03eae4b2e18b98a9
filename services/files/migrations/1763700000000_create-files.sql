create table bucket (
  entity_id text primary key,
  id uuid not null unique,
  state text not null check (state in ('open', 'sealed', 'immutable', 'removed')),
  publication_id text,
  sealed_at timestamptz(3),
  revision bigint not null default 0,
  updated_at timestamptz(3) not null,
  check ((state = 'sealed') = (publication_id is not null)),
  check ((state = 'sealed') = (sealed_at is not null))
);
create index bucket_sealed on bucket (publication_id) where state = 'sealed';
create index bucket_removed on bucket (updated_at) where state = 'removed';

create table object (
  id uuid primary key,
  size bigint not null check (size >= 0),
  md5 text not null check (md5 ~ '^[0-9a-f]{32}$'),
  width integer,
  height integer,
  created_at timestamptz(3) not null,
  unreferenced_at timestamptz(3)
);
create index object_unreferenced on object (unreferenced_at) where unreferenced_at is not null;

create table entry (
  entity_id text not null references bucket (entity_id) on delete cascade,
  key text not null,
  position integer not null,
  state text not null check (state in ('pending', 'completed')),
  metadata text,
  object_id uuid references object (id),
  version_id uuid,
  mimetype text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (entity_id, key),
  unique (entity_id, position),
  check (state = 'pending' or object_id is not null),
  check ((object_id is null) = (version_id is null)),
  check ((object_id is null) = (mimetype is null))
);
create index entry_object on entry (object_id);

create table participant (
  publication_id text primary key,
  state text not null check (state in ('new', 'prepared', 'applied', 'aborted')),
  epoch integer not null,
  updated_at timestamptz(3) not null
);
