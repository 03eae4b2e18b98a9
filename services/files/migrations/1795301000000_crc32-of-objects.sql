alter table object add column crc32 bigint check (crc32 between 0 and 4294967295);
