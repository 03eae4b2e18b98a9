alter table object add column sha256 text check (sha256 ~ '^[0-9a-f]{64}$');
