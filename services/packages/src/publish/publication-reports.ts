import type { Prisma, Publication as Row } from '../gen/prisma/client.ts';
import type { Database } from '../store/prisma.ts';
import type { PublicationState, Refusal } from './publication.ts';

/** A publication with everything that is known of it. */
export interface PublicationReport extends Omit<Row, 'state' | 'snapshot' | 'refusal'> {
  readonly state: PublicationState;
  readonly snapshot: Prisma.JsonValue;
  readonly refusal: Refusal | null;
}

export interface PublicationFilter {
  /** None: any. */
  readonly states: readonly string[];
  readonly createdBefore: Date;
  readonly limit: number;
}

/** The youngest first: ids of publications grow with time. */
export async function listReports(
  database: Database,
  { states, createdBefore, limit }: PublicationFilter,
): Promise<PublicationReport[]> {
  const rows = await database.publication.findMany({
    where: {
      createdAt: { lte: createdBefore },
      ...(states.length > 0 && { state: { in: [...states] } }),
    },
    orderBy: { id: 'desc' },
    take: limit,
  });
  return rows.map(reportOf);
}

export async function readReport(database: Database, id: string): Promise<PublicationReport | undefined> {
  const row = await database.publication.findUnique({ where: { id } });
  return row === null ? undefined : reportOf(row);
}

/** The database holds the columns to the words of the saga. */
function reportOf(row: Row): PublicationReport {
  return { ...row, state: row.state as PublicationState, refusal: row.refusal as Refusal | null };
}
