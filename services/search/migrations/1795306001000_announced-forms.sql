-- Published forms appear with everything they were published with. Who is written before that is kept back.
ALTER TABLE index_document ADD COLUMN is_announced boolean NOT NULL DEFAULT true;

CREATE INDEX index_document_unannounced ON index_document (id) WHERE NOT is_announced;
