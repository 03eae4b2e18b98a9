-- levenshtein_less_equal: words that are like another.
CREATE EXTENSION IF NOT EXISTS fuzzystrmatch;

-- Every word that a text of the index has, or once had: looking for those like another needs them side by side.
CREATE TABLE index_word (
  word text COLLATE "C" PRIMARY KEY
);

-- `type= folded words` and, in the next line, the value that is suggested for them.
ALTER TABLE index_document ADD COLUMN suggestions text[] NOT NULL DEFAULT '{}';
ALTER TABLE index_document ALTER COLUMN suggestions SET STORAGE EXTENDED;

-- What is indexed already has neither until it is written again.
UPDATE index_state SET filled_at = NULL;
