-- What names the one creation of a link, so that a repeated one makes no second.
alter table access_link add column creation_key bytea check (octet_length(creation_key) = 32);
create unique index access_link_creation on access_link (creation_key);
