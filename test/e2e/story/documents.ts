const CREATORS = [{ person_or_org: { type: 'personal', family_name: 'Moreau', given_name: 'Lise' } }];

interface Wishes {
  metadata?: Record<string, unknown>;
  access?: { record: string; files: string };
  withFiles?: boolean;
}

/** A resource that may be published as it is. */
export function recordDocument(title: string, wishes: Wishes = {}) {
  return entityDocument({ title, resource_type: { id: 'dataset' } }, wishes);
}

/** A package that may be published as it is. */
export function packageDocument(title: string, wishes: Wishes = {}) {
  return entityDocument({ title, publisher: 'River Observatory' }, wishes);
}

function entityDocument(
  own: Record<string, unknown>,
  { metadata = {}, access = { record: 'public', files: 'public' }, withFiles = false }: Wishes,
) {
  return {
    access,
    files: { enabled: withFiles },
    metadata: { publication_date: '2026-03-02', creators: CREATORS, ...own, ...metadata },
  };
}
