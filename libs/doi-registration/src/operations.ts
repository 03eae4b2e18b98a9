import type {
  Doi,
  ListDoisRequest__Output,
  ListDoisResponse,
  ReconcileDoisRequest__Output,
  ReconcileDoisResponse,
  RetryDoisRequest__Output,
  RetryDoisResponse,
} from '@kr/contracts';
import type { SqlDatabase } from '@kr/database';
import { ServiceError } from '@kr/service-error';
import { DataciteError } from './datacite.ts';
import { type DoiRegistrationOptions, expectedUrl } from './register-dois.ts';
import { type DoiRow, listDois, makeDue, stateOf } from './store.ts';

/** RPCs of `DoisService`. `registration` is undefined while nothing is registered. */
export function doiHandlers(database: SqlDatabase, registration: DoiRegistrationOptions | undefined) {
  return {
    /** @throws ServiceError `invalid`: limit out of bounds */
    async ListDois({ afterDoi, limit, isFailed }: ListDoisRequest__Output): Promise<ListDoisResponse> {
      const rows = await page(database, { afterDoi, limit, isFailed }, 1_000);
      return {
        dois: rows.slice(0, limit).map(doiMessage),
        hasMore: rows.length > limit,
        isConfigured: registration !== undefined,
      };
    },

    /** @throws ServiceError `invalid`: too many DOIs */
    async RetryDois({ dois }: RetryDoisRequest__Output): Promise<RetryDoisResponse> {
      if (dois.length > 1_000) throw new ServiceError('invalid', 'Not more than 1000 DOIs at once.');
      const retried = await makeDue(database, dois.length === 0 ? 'refused' : dois);
      const known = new Set(retried.map((doi) => doi.toLowerCase()));
      return {
        retried: String(retried.length),
        unknown: dois.filter((doi) => !known.has(doi.toLowerCase())),
      };
    },

    /**
     * @throws ServiceError
     *   - `invalid`: limit out of bounds, or registration is not configured
     *   - `unavailable`: DataCite does not answer or refuses the credentials
     */
    async ReconcileDois({ afterDoi, limit }: ReconcileDoisRequest__Output): Promise<ReconcileDoisResponse> {
      if (registration === undefined)
        throw new ServiceError('invalid', 'DOI registration is not configured.');
      const rows = await page(database, { afterDoi, limit }, 100);
      const compared = rows.slice(0, limit);
      const differing: string[] = [];
      for (const row of compared) if (await isDifferent(registration, row)) differing.push(row.doi);
      if (differing.length > 0) await makeDue(database, differing);
      return {
        compared: compared.length,
        differing,
        nextAfterDoi: rows.length > limit ? (compared.at(-1)?.doi ?? '') : '',
      };
    },
  };
}

/** One row more than the limit, if there are more. */
function page(
  database: SqlDatabase,
  wanted: { afterDoi: string; limit: number; isFailed?: boolean },
  maxLimit: number,
): Promise<DoiRow[]> {
  if (wanted.limit < 1 || wanted.limit > maxLimit)
    throw new ServiceError('invalid', `The limit must be between 1 and ${maxLimit}.`);
  return listDois(database, { ...wanted, limit: wanted.limit + 1 });
}

async function isDifferent(registration: DoiRegistrationOptions, row: DoiRow): Promise<boolean> {
  const url = await expectedUrl(registration, row);
  try {
    const found = await registration.datacite.get(row.doi);
    if (url === undefined) return found?.state === 'findable';
    return found?.state !== 'findable' || found.url !== url;
  } catch (error) {
    if (error instanceof DataciteError) throw new ServiceError('unavailable', error.message);
    throw error;
  }
}

function doiMessage(row: DoiRow): Doi {
  return {
    doi: row.doi,
    entityId: row.entity_id,
    isConcept: row.is_concept,
    state: stateOf(row),
    attempts: row.attempts,
    lastError: row.last_error ?? '',
    dueAt: row.due_at?.toISOString() ?? '',
    registeredAt: row.registered_at?.toISOString() ?? '',
  };
}
