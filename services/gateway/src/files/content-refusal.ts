import type { Readable } from 'node:stream';
import { HttpProblem, type ProblemDetails } from '../http/http-problem.ts';
import { isObject } from '../http/json-object.ts';
import type { ContentAnswer } from './content-plane.ts';

/** More than any refusal of the files service says. */
const MOST_BYTES = 1_048_576;

/**
 * What the files service refused, as a refusal of ours, so that it looks as its reader asks for. One that is not worded
 * as ours are, because something between us gave it, is told by its status.
 */
export async function contentRefusal({ status, headers, body }: ContentAnswer): Promise<HttpProblem> {
  // What it says of its own body is not true of ours.
  const kept = Object.entries(headers).filter(
    ([name]) => name === 'content-range' || !name.startsWith('content-'),
  );
  const told = Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
  const said = saidIn(await readSome(body));
  const message = typeof said['message'] === 'string' ? said['message'] : 'The request was refused.';
  return new HttpProblem(status, message, told, detailsOf(said));
}

function detailsOf({ code, hint, errors }: Record<string, unknown>): ProblemDetails {
  return {
    code: typeof code === 'string' ? code : undefined,
    hint: typeof hint === 'string' ? hint : undefined,
    errors: Array.isArray(errors) ? errors.filter(isObject) : undefined,
  };
}

/** An answer to HEAD has no body that could say more than its status. */
function saidIn(text: string): Record<string, unknown> {
  try {
    const said: unknown = JSON.parse(text);
    return isObject(said) ? said : {};
  } catch {
    return {};
  }
}

/** As much of a body as comes, up to a limit. */
async function readSome(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) break;
      chunks.push(chunk);
    }
  } catch {
    // The status has come, and stays what it is.
  }
  return Buffer.concat(chunks).toString();
}
