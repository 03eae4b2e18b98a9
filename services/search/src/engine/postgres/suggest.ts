import type pg from 'pg';
import { textTokens } from '../../index/text-tokens.ts';
import type { EngineSuggest, Suggestion, SuggestionType } from '../search-engine.ts';
import { fieldLexeme, quoteLexeme } from './lexemes.ts';
import { Parameters, storableText } from './parameters.ts';
import { scopeConditions } from './search-sql.ts';

/** The fields that the values are of, so that the index of the terms finds their documents. */
const FIELDS: Readonly<Record<SuggestionType, string>> = {
  title: 'metadata.title',
  creator: 'metadata.creators.person_or_org.name',
  subject: 'metadata.subjects.subject',
};

/** How a value stands in the column `suggestions`; each word has a blank before it. */
export function suggestionEntry(type: SuggestionType, value: string): string {
  const words = textTokens(value).map((word) => ` ${word}`);
  return storableText(`${type}=${words.join('')}\n${value}`);
}

export async function runSuggest(pool: pg.Pool, suggest: EngineSuggest): Promise<Suggestion[]> {
  const { text, values } = suggestSql(suggest);
  const { rows } = await pool.query<{ value: string; count: string }>(text, values);
  return rows.map(({ value, count }) => ({ value, count: Number(count) }));
}

function suggestSql({ viewer, kinds, type, prefixes, limit, now }: EngineSuggest) {
  const parameters = new Parameters();
  const lexemes = prefixes.map((prefix) => fieldLexeme(FIELDS[type], prefix));
  const scope = { forms: 'published', kinds, latestOnly: true, onlyIds: null, publishedIds: [] } as const;
  const conditions = [
    'd.deleted_at IS NULL',
    ...scopeConditions(scope, viewer, now, parameters),
    `d.terms @@ ${parameters.add(lexemes.map((lexeme) => `${quoteLexeme(lexeme)}:*`).join(' & '))}::tsquery`,
    `starts_with(entry, ${parameters.add(`${type}=`)})`,
    ...prefixes.map((prefix) => `strpos(split_part(entry, E'\\n', 1), ${parameters.add(` ${prefix}`)}) > 0`),
  ];
  const text = `
    SELECT value, count FROM (
      SELECT substr(entry, strpos(entry, E'\\n') + 1) AS value, count(*) AS count
      FROM index_document d, unnest(d.suggestions) AS entry
      WHERE ${conditions.join(' AND ')} GROUP BY value
    ) AS found
    ORDER BY count DESC, value COLLATE "C" LIMIT ${parameters.add(limit)}`;
  return { text, values: parameters.values };
}
