import type { SuggestionType } from '../../documents/entity.ts';
import type { IndexRow } from '../../documents/index-row.ts';
import { fieldLexeme } from '../../documents/text-tokens.ts';
import type { Answered, EngineSuggest, Suggestion, SuggestionSource } from '../search-engine.ts';
import { suggestScope } from '../search-rules.ts';
import { Parameters, quoteLexeme } from './parameters.ts';
import { scopeConditions } from './search-sql.ts';
import type { TimedQueries } from './timed-queries.ts';

/** The fields that the values are of, so that the index of the terms finds their documents. */
const FIELDS: Readonly<Record<SuggestionType, string>> = {
  title: 'metadata.title',
  creator: 'metadata.creators.person_or_org.name',
  subject: 'metadata.subjects.subject',
};

/** The format of a value in the column `suggestions`; each word has a blank before it. */
export function suggestionEntry({ type, value, words }: IndexRow['suggestions'][number]): string {
  return `${type}=${words.map((word) => ` ${word}`).join('')}\n${value}`;
}

export async function runSuggest(
  queries: TimedQueries,
  schema: string,
  suggest: EngineSuggest,
): Promise<Answered<Suggestion[]>> {
  const { text, values } = suggestSql(suggest, schema);
  const { rows } = await queries.query<{ suggestions: SuggestionRow[]; live: string | null }>(text, values);
  const { suggestions = [], live = null } = rows[0] ?? {};
  const answer = suggestions.map(({ value, count, first_source, last_source }) => ({
    value,
    count,
    sources: [...new Set([first_source, last_source])].map(readSource),
  }));
  return { answer, live };
}

interface SuggestionRow {
  value: string;
  count: number;
  first_source: string;
  last_source: string;
}

/** Aggregates over one text are cheaper than over rows. Ids have no blanks. */
const SOURCE = `(d.id || ' ' || d.kind || ' ' || d.revision) COLLATE "C"`;

function readSource(text: string): SuggestionSource {
  const [id = '', kind, revision = ''] = text.split(' ');
  return { id, kind: kind === 'package' ? 'package' : 'record', revision };
}

function suggestSql({ viewer, kinds, type, prefixes, limit, now }: EngineSuggest, schema: string) {
  const parameters = new Parameters(schema);
  const lexemes = prefixes.map((prefix) => fieldLexeme(FIELDS[type], prefix));
  const conditions = [
    ...scopeConditions({ scope: suggestScope(kinds), viewer, now, isByWords: true }, parameters),
    `d.terms @@ ${parameters.add(lexemes.map((lexeme) => `${quoteLexeme(lexeme)}:*`).join(' & '))}::tsquery`,
    `starts_with(entry, ${parameters.add(`${type}=`)})`,
    ...prefixes.map((prefix) => `strpos(split_part(entry, E'\\n', 1), ${parameters.add(` ${prefix}`)}) > 0`),
  ];
  const text = `
    WITH found AS (
      SELECT substr(entry, strpos(entry, E'\\n') + 1) AS value, count(*) AS count,
        min(${SOURCE}) AS first_source, max(${SOURCE}) AS last_source
      FROM ${schema}.index_document d, unnest(d.suggestions) AS entry
      WHERE ${conditions.join(' AND ')} GROUP BY value
    ), best AS (
      SELECT value, count, first_source, last_source FROM found ORDER BY count DESC, value COLLATE "C" LIMIT ${parameters.add(limit)}
    )
    SELECT
      (SELECT coalesce(json_agg(best ORDER BY count DESC, value COLLATE "C"), '[]') FROM best) AS suggestions,
      (SELECT generation FROM index_state) AS live`;
  return { text, values: parameters.values };
}
