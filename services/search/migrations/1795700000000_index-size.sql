-- How many live documents an index has, told without reading it, or waiting while it is exchanged.

-- Writers, which take turns by this lock, wait; searches go on.
SELECT pg_advisory_xact_lock(7160051);

-- What is being built there is not counted; it is begun again.
DROP SCHEMA IF EXISTS index_build CASCADE;

CREATE TABLE index_size (
  -- The table of its documents. One that a process of the release before has put in the place of the live one is missing.
  index_table regclass PRIMARY KEY,
  documents   bigint   NOT NULL
);

CREATE FUNCTION count_index_documents() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more bigint := 0;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    UPDATE public.index_size SET documents = 0 WHERE index_table = TG_RELID;
    RETURN NULL;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    more := (SELECT count(*) FROM rows_after WHERE deleted_at IS NULL);
  END IF;
  IF TG_OP <> 'INSERT' THEN
    more := more - (SELECT count(*) FROM rows_before WHERE deleted_at IS NULL);
  END IF;
  -- Who changes nothing, as who forgets marks, waits for nobody.
  IF more <> 0 THEN
    UPDATE public.index_size SET documents = documents + more WHERE index_table = TG_RELID;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER count_inserted AFTER INSERT ON index_document REFERENCING NEW TABLE AS rows_after
  FOR EACH STATEMENT EXECUTE FUNCTION count_index_documents();
CREATE TRIGGER count_updated AFTER UPDATE ON index_document REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after
  FOR EACH STATEMENT EXECUTE FUNCTION count_index_documents();
CREATE TRIGGER count_deleted AFTER DELETE ON index_document REFERENCING OLD TABLE AS rows_before
  FOR EACH STATEMENT EXECUTE FUNCTION count_index_documents();
CREATE TRIGGER count_truncated AFTER TRUNCATE ON index_document
  FOR EACH STATEMENT EXECUTE FUNCTION count_index_documents();

INSERT INTO index_size SELECT 'index_document'::regclass, count(*) FROM index_document WHERE deleted_at IS NULL;
