-- Who asked for it, for the trail of what it shows.
alter table publication add column actor jsonb;
