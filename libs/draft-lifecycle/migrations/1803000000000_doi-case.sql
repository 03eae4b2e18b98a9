-- DOIs are compared without regard to case.
create index version_doi_lower on version (lower(document -> 'pids' -> 'doi' ->> 'identifier'))
  where document -> 'pids' -> 'doi' is not null;
create index draft_doi_locked on draft (lower(document -> 'pids' -> 'doi' ->> 'identifier'))
  where document -> 'pids' -> 'doi' is not null and locked_by is not null;
