-- The size of a document as text, in bytes, so that readers know what a page weighs before they load it.
alter table version add column document_bytes integer generated always as (octet_length(document::text)) stored;
alter table draft add column document_bytes integer generated always as (octet_length(document::text)) stored;
