import { newEntityId } from '@kr/draft-lifecycle';
import { Client } from 'pg';
import type { CorpusWords } from './corpus-words.ts';

interface Copying {
  databaseUrl: string;
  /** A published record. */
  templateId: string;
  count: number;
  words: CorpusWords;
}

const AT_ONCE = 5_000;
const RESOURCE_TYPES = ['dataset', 'image-photo', 'publication-article', 'software', 'video'];

/**
 * Makes a published record many, each with its own title, description, subject and type: past the service, which would
 * take its time, and unheard of by the index.
 *
 * @returns the titles
 */
export async function copyRecords({ databaseUrl, templateId, count, words }: Copying): Promise<string[]> {
  const titles: string[] = [];
  const database = new Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    for (let made = 0; made < count; made += AT_ONCE) {
      const rows = Array.from({ length: Math.min(AT_ONCE, count - made) }, (_, index) => ({
        id: newEntityId(),
        parent_id: newEntityId(),
        title: words.text(6),
        description: words.text(40),
        subject: words.text(1),
        type: RESOURCE_TYPES[(made + index) % RESOURCE_TYPES.length],
        age: made + index,
      }));
      await database.query(COPY, [templateId, JSON.stringify(rows)]);
      titles.push(...rows.map(({ title }) => title));
    }
    await database.query('ANALYZE');
  } finally {
    await database.end();
  }
  return titles;
}

const COPY = `
  WITH rows AS (
    SELECT * FROM jsonb_to_recordset($2::jsonb)
      AS x (id text, parent_id text, title text, description text, subject text, type text, age integer)
  ), template AS (
    SELECT v.document, v.revision, v.created_at, p.owner_id
    FROM version v JOIN parent p ON p.id = v.parent_id WHERE v.id = $1
  ), parents AS (
    INSERT INTO parent (id, owner_id, created_at)
    SELECT r.parent_id, t.owner_id, t.created_at FROM rows r, template t
  )
  INSERT INTO version (id, parent_id, version_index, visible, document, revision, created_at, updated_at)
  SELECT r.id, r.parent_id, 1, true,
    t.document || jsonb_build_object('pids', '{}'::jsonb, 'metadata', t.document -> 'metadata' || jsonb_build_object(
      'title', r.title, 'description', r.description, 'subjects', jsonb_build_array(jsonb_build_object('subject', r.subject)),
      'resource_type', jsonb_build_object('id', r.type))),
    t.revision, t.created_at - r.age * interval '1 second', t.created_at - r.age * interval '1 second'
  FROM rows r, template t`;
