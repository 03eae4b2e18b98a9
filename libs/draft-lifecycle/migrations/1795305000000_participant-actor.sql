-- Who asked for the publication, for the trail of what it shows.
alter table participant add column actor jsonb;
