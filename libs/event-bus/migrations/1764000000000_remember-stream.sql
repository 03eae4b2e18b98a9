-- The stream that the outbox was sent into, by the date it was made: when it is lost, the events are still here.
create table outbox_stream (
  is_only boolean primary key check (is_only),
  created text not null
);
