import type { Sql } from '@kr/database';
import type { Prisma, Publication as Row } from '../gen/prisma/client.ts';
import type { PublicationState, Refusal } from './publication.ts';
import { PUBLICATION_COLUMNS } from './publication-store.ts';

/** A publication with all its columns. */
export interface PublicationReport extends Omit<Row, 'state' | 'snapshot' | 'refusal'> {
  readonly state: PublicationState;
  readonly snapshot: Prisma.JsonValue;
  readonly refusal: Refusal | null;
}

const REPORT_COLUMNS = `${PUBLICATION_COLUMNS}, snapshot, finished_at as "finishedAt"`;

export interface PublicationFilter {
  /** None: any. */
  readonly states: readonly string[];
  readonly createdBefore: Date;
  readonly limit: number;
}

/** The youngest first: ids of publications grow with time. */
export async function listReports(
  sql: Sql,
  { states, createdBefore, limit }: PublicationFilter,
): Promise<PublicationReport[]> {
  const rows = await sql.$queryRawUnsafe<Row[]>(
    `select ${REPORT_COLUMNS} from publication
     where created_at <= $1::timestamptz and (cardinality($2::text[]) = 0 or state = any($2::text[]))
     order by id desc limit $3::int`,
    createdBefore.toISOString(),
    states,
    limit,
  );
  return rows.map(reportOf);
}

export async function readReport(sql: Sql, id: string): Promise<PublicationReport | undefined> {
  const [row] = await sql.$queryRawUnsafe<Row[]>(
    `select ${REPORT_COLUMNS} from publication where id = $1::uuid`,
    id,
  );
  return row === undefined ? undefined : reportOf(row);
}

/** Constraints of the table guarantee the values of the columns. */
function reportOf(row: Row): PublicationReport {
  return { ...row, state: row.state as PublicationState, refusal: row.refusal as Refusal | null };
}
