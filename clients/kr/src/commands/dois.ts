import type { Doi__Output, ListDoisRequest, ListDoisResponse__Output } from '@kr/contracts';
import { CliError } from '../cli-error.ts';
import { callService, DOI_OWNERS } from '../settings/call-as-operator.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminOptions } from './context.ts';

const PAGE = 1_000;
const COMPARED_AT_ONCE = 50;

/** `kr admin doi list`: DOIs of published resources and packages and their state at DataCite. */
export async function listDois(
  terminal: Terminal,
  { failed, json, dataDirs }: AdminOptions & { failed: boolean },
): Promise<void> {
  const dois: Doi__Output[] = [];
  let isConfigured = true;
  for (const service of DOI_OWNERS) {
    let afterDoi: string | undefined = '';
    while (afterDoi !== undefined) {
      const request: ListDoisRequest = { afterDoi, limit: PAGE, isFailed: failed };
      const answer: ListDoisResponse__Output = await callService(
        'dois',
        service,
        dataDirs,
        (client, caller) => client.listDois(request, caller),
      );
      dois.push(...answer.dois);
      isConfigured &&= answer.isConfigured;
      afterDoi = answer.hasMore ? answer.dois.at(-1)?.doi : undefined;
    }
  }
  if (json)
    return terminal.print(JSON.stringify({ configured: isConfigured, dois: dois.map(doiJson) }, null, 2));
  if (!isConfigured) terminal.note('DOI registration is not configured. See docs/dois.md.');
  if (dois.length === 0) return terminal.note(failed ? 'No DOI was refused.' : 'There are no DOIs.');
  for (const line of doiTable(dois)) terminal.print(line);
}

/** `kr admin doi retry [DOI…]`: fails when a DOI is unknown. */
export async function retryDois(
  terminal: Terminal,
  dois: readonly string[],
  { json, dataDirs }: AdminOptions,
): Promise<void> {
  let retried = 0;
  let unknown = new Set(dois);
  for (const service of DOI_OWNERS) {
    const answer = await callService('dois', service, dataDirs, (client, caller) =>
      client.retryDois({ dois: [...dois] }, caller),
    );
    retried += Number(answer.retried);
    unknown = new Set(answer.unknown.filter((doi) => unknown.has(doi)));
  }
  if (json) terminal.print(JSON.stringify({ retried, unknown: [...unknown] }, null, 2));
  else terminal.print(`${retried} sent again`);
  if (unknown.size > 0) throw new CliError(`Unknown DOI: ${[...unknown].join(', ')}`);
}

/** `kr admin doi reconcile`: compares every DOI with DataCite and sends again what differs. */
export async function reconcileDois(terminal: Terminal, { json, dataDirs }: AdminOptions): Promise<void> {
  let compared = 0;
  const differing: string[] = [];
  for (const service of DOI_OWNERS) {
    let afterDoi = '';
    do {
      const request = { afterDoi, limit: COMPARED_AT_ONCE };
      const answer = await callService('dois', service, dataDirs, (client, caller) =>
        client.reconcileDois(request, caller),
      );
      compared += answer.compared;
      differing.push(...answer.differing);
      terminal.status(`${compared} compared`);
      afterDoi = answer.nextAfterDoi;
    } while (afterDoi !== '');
  }
  terminal.status('');
  if (json) return terminal.print(JSON.stringify({ compared, differing }, null, 2));
  for (const doi of differing) terminal.print(doi);
  terminal.print(`${compared} compared, ${differing.length} sent again`);
}

function doiTable(dois: readonly Doi__Output[]): string[] {
  return table([
    ['DOI', 'of', 'state', 'attempts', 'next', 'last error'],
    ...dois.map(({ doi, entityId, isConcept, state, attempts, dueAt, lastError }) => [
      doi,
      isConcept ? `all versions of ${entityId}` : entityId,
      state,
      String(attempts),
      dueAt,
      lastError.replaceAll(/\s+/g, ' '),
    ]),
  ]);
}

function doiJson({ doi, entityId, isConcept, state, attempts, dueAt, lastError, registeredAt }: Doi__Output) {
  return {
    doi,
    [isConcept ? 'parent_id' : 'id']: entityId,
    state,
    attempts,
    last_error: lastError || null,
    due: dueAt || null,
    registered: registeredAt || null,
  };
}
