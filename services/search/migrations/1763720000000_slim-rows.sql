-- The index is filled again from the services when it is found empty.
TRUNCATE index_document CASCADE;

-- Who needs the document asks its service.
ALTER TABLE index_document DROP COLUMN document;

-- Listings read rows and facets without terms, which lie apart, uncompressed: ranking reads them much faster so.
ALTER TABLE index_document SET (toast_tuple_target = 256);
ALTER TABLE index_document ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE index_document ALTER COLUMN facets SET STORAGE MAIN;
