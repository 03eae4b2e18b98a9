import type { Readable } from 'node:stream';
import { isObject } from '../http/body.ts';
import { HttpProblem, type ProblemDetails } from '../http/http-problem.ts';
import type { ContentAnswer } from './content-client.ts';

/** Longer than any refusal of the files service. */
const MAX_REFUSAL_BYTES = 1_048_576;

/**
 * A refusal of the files service as an error of the gateway, rendered in the requested format. A refusal in another format, from a
 * proxy in between, is classified by its status.
 */
export async function contentRefusal({ status, headers, body }: ContentAnswer): Promise<HttpProblem> {
  // Headers that describe the refusal's own body, which is replaced.
  const passed = Object.entries(headers).filter(
    ([name]) => name === 'content-range' || !name.startsWith('content-'),
  );
  const passedHeaders = Object.fromEntries(passed.map(([name, value]) => [name, String(value)]));
  const errorBody = errorBodyIn(await readSome(body));
  const message =
    typeof errorBody['message'] === 'string' ? errorBody['message'] : 'The request was refused.';
  return new HttpProblem(status, message, passedHeaders, detailsOf(errorBody));
}

function detailsOf({ code, hint, errors }: Record<string, unknown>): ProblemDetails {
  return {
    code: typeof code === 'string' ? code : undefined,
    hint: typeof hint === 'string' ? hint : undefined,
    errors: Array.isArray(errors) ? errors.filter(isObject) : undefined,
  };
}

/** An answer to HEAD has no body. */
function errorBodyIn(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

/** The start of a body, up to a limit. */
async function readSome(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > MAX_REFUSAL_BYTES) break;
      chunks.push(chunk);
    }
  } catch {
    // The status was sent and cannot change.
  }
  return Buffer.concat(chunks).toString();
}
