-- The index is filled again from the services when it is found empty.
TRUNCATE index_document CASCADE;

-- Who needs the document asks its service.
ALTER TABLE index_document DROP COLUMN document;

-- Listings read the rows without their terms, and ranking reads terms much faster uncompressed.
ALTER TABLE index_document ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE index_document SET (toast_tuple_target = 256);
