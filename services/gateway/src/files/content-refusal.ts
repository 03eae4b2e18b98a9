import { text as readText } from 'node:stream/consumers';
import { HttpProblem, type ProblemDetails } from '../http/http-problem.ts';
import type { ContentAnswer } from './content-plane.ts';

/** What the files service refused, as a refusal of ours, so that it looks as its reader asks for. */
export async function contentRefusal({ status, headers, body }: ContentAnswer): Promise<HttpProblem> {
  const { 'content-type': type, 'content-length': _length, ...kept } = headers;
  const told = Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, String(value)]));
  // An answer to HEAD has no body that could say more than its status.
  const text = type === undefined ? '' : await readText(body);
  const said: ProblemDetails & { message?: string } = text === '' ? {} : JSON.parse(text);
  const { message = 'The request was refused.', code, errors } = said;
  return new HttpProblem(status, message, told, { code, errors });
}
