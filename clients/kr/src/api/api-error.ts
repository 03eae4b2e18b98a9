import { Failure } from '../failure.ts';

/** One rule that one field of a request breaks, or one resource that has a problem. */
export interface FieldError {
  field?: string;
  messages?: readonly string[];
  /** The entity it is about, in answers that speak of several. */
  record?: string;
  message?: string;
}

/** An answer that says no. */
export class ApiError extends Failure {
  readonly status: number;
  readonly errors: readonly FieldError[];

  constructor(status: number, summary: string, errors: readonly FieldError[] = []) {
    super([summary, ...errors.map((error) => `  ${describe(error)}`)].join('\n'));
    this.status = status;
    this.errors = errors;
  }
}

export function describe({ field, messages, record, message }: FieldError): string {
  const subject = [record, field].filter((part) => part !== undefined && part !== '').join(' ');
  const text = messages?.join(' ') ?? message ?? '';
  return subject === '' ? text : `${subject}: ${text}`;
}

/** The error of an answer, whatever its body is; `hasToken` decides what is advised. */
export function toApiError(request: string, status: number, body: string, hasToken: boolean): ApiError {
  const { message, errors } = parse(body);
  const said = message ?? (body.trim() === '' ? 'no reason given' : 'the answer is not of this service');
  return new ApiError(status, `${request} failed with ${status}: ${said}${advice(status, hasToken)}`, errors);
}

function advice(status: number, hasToken: boolean): string {
  if (status !== 401 && status !== 403) return '';
  return hasToken
    ? '\nThe token may be wrong or lack the right to do this. `kr login` stores another one.'
    : '\nNo token was sent. `kr login` stores one, or set KR_TOKEN.';
}

function parse(body: string): { message?: string; errors?: FieldError[] } {
  try {
    const { message, errors } = JSON.parse(body) as { message?: unknown; errors?: unknown };
    return {
      ...(typeof message === 'string' ? { message } : {}),
      ...(Array.isArray(errors) ? { errors: errors.map(toFieldError) } : {}),
    };
  } catch {
    // A proxy in between may answer with anything.
    return {};
  }
}

function toFieldError(value: unknown): FieldError {
  if (typeof value !== 'object' || value === null) return { message: String(value) };
  const { field, messages, record, message } = value as Record<string, unknown>;
  return {
    ...(typeof field === 'string' ? { field } : {}),
    ...(Array.isArray(messages) ? { messages: messages.map(String) } : {}),
    ...(typeof record === 'string' ? { record } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}
