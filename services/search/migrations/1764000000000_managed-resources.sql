-- The index is filled again from the services when it is found empty.
TRUNCATE index_document CASCADE;

-- The parent of the package that manages a resource, whose access links open the resource too.
ALTER TABLE index_document ADD COLUMN managed_by text;

CREATE INDEX index_document_managed ON index_document (managed_by) WHERE managed_by IS NOT NULL;
