-- Up to where a consumer has done all its events, as of the last look. Events behind it that are not in the stream any more are lost.
create table consumer_position (
  consumer text primary key,
  -- The date the stream was made: positions of another one mean nothing.
  stream text not null,
  position bigint not null,
  -- Since when it has lost events whose effects were not made up for.
  lost_at timestamptz
);
