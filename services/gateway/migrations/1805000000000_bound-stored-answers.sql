-- SHA-256 of the user or access link whose stored answers are bounded together. Null: written by the previous release.
-- An empty body is an answer that is not stored.
alter table idempotency_key add column owner bytea;
create index idempotency_key_owner_idx on idempotency_key (owner, created_at);
