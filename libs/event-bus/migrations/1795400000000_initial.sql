-- Written in the transaction of the change that an event reports; sent and flagged by the relay. A flag and not a cursor: ids
-- are drawn before commit, so a lower id can appear after a higher one was read.
create table outbox (
  id bigserial primary key,
  event_id uuid not null unique,
  aggregate_id text not null,
  revision bigint not null,
  subject text not null,
  payload bytea not null,
  headers jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  published_at timestamptz
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01);
create index outbox_unpublished on outbox (id) where published_at is null;

-- The stream that the outbox was sent into, by its creation date: if it is lost, the events are sent again from here.
create table outbox_stream (
  is_only boolean primary key check (is_only),
  created text not null
);

-- Complete copies of events that a consumer failed to handle, for replay.
create table dead_letter (
  id bigserial primary key,
  consumer text not null,
  event_id text not null,
  subject text not null,
  payload bytea not null,
  headers jsonb not null,
  deliveries integer not null,
  reason text not null,
  failed_at timestamptz not null default clock_timestamp(),
  unique (consumer, event_id)
);

-- The last event up to which a consumer had handled all events when it was last checked. Later events that are no longer in the
-- stream are lost.
create table consumer_position (
  consumer text primary key,
  -- The creation date of the stream; positions in another stream mean nothing.
  stream text not null,
  position bigint not null,
  -- Since when it has lost events whose effects were not made up for.
  lost_at timestamptz
);
