-- One row for each DOI of a published version, and for each concept DOI, which names all versions of an entity.
create table doi_registration (
  doi text primary key,
  -- The version, or the parent of a concept DOI.
  entity_id text not null,
  is_concept boolean not null,
  -- The state that DataCite last confirmed: none, findable, or registered, which hides it from searches.
  state text not null default 'unregistered' check (state in ('unregistered', 'registered', 'findable')),
  -- When it is sent next; null: nothing to send.
  due_at timestamptz(3),
  -- Another process leaves it alone until then.
  leased_until timestamptz(3),
  -- Counts changes of the entity: what was sent for an earlier count is not the last word.
  changes bigint not null default 1,
  -- Of the present change.
  attempts integer not null default 0,
  last_error text,
  -- Set while DataCite refuses it: sent again only on request, or when the entity changes.
  refused_at timestamptz(3),
  changed_at timestamptz(3) not null default now(),
  registered_at timestamptz(3)
);
create index doi_registration_due on doi_registration (due_at) where due_at is not null;
create index doi_registration_refused on doi_registration (doi) where refused_at is not null;
create index doi_registration_of on doi_registration (entity_id);

create function note_doi(doi text, entity_id text, is_concept boolean) returns void language sql as $$
  insert into doi_registration (doi, entity_id, is_concept, due_at) values (doi, entity_id, is_concept, now())
  on conflict (doi) do update
    set due_at = now(), attempts = 0, last_error = null, refused_at = null, changed_at = now(),
        changes = doi_registration.changes + 1
$$;

-- In the transaction that publishes, restricts, removes or restores a version.
create function note_dois_of_version() returns trigger language plpgsql as $$
declare
  assigned text := new.document -> 'pids' -> 'doi' ->> 'identifier';
begin
  perform note_doi(assigned, new.id, false);
  perform note_doi(split_part(assigned, '/', 1) || '/' || new.parent_id, new.parent_id, true);
  return null;
end
$$;
create trigger version_dois after update of document, removed_at on version
  for each row
  when (new.visible and new.document -> 'pids' -> 'doi' ->> 'provider' = 'datacite')
  execute function note_dois_of_version();

-- Versions that were published before this table existed.
select note_doi(v.document -> 'pids' -> 'doi' ->> 'identifier', v.id, false)
from version v where v.visible and v.document -> 'pids' -> 'doi' ->> 'provider' = 'datacite';
select note_doi(min(split_part(v.document -> 'pids' -> 'doi' ->> 'identifier', '/', 1)) || '/' || v.parent_id, v.parent_id, true)
from version v where v.visible and v.document -> 'pids' -> 'doi' ->> 'provider' = 'datacite' group by v.parent_id;
