import { CliError } from '../cli-error.ts';

/** One rule that one field of a request breaks, or one resource that has a problem. */
export interface FieldError {
  field?: string;
  messages?: readonly string[];
  /** The entity it is about, in answers that speak of several. */
  record?: string;
  message?: string;
}

/** A refusal of the service. */
export class ApiError extends CliError {
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

/** The credentials of a request, for advice when it is refused. */
export interface SentCredentials {
  /** Where the token comes from; undefined if none was sent. */
  token: string | undefined;
  /** Whether the token of an access link was sent. */
  hasLink: boolean;
}

/** The error of an answer with any body. */
export function toApiError(request: string, status: number, body: string, sent: SentCredentials): ApiError {
  const { message, errors } = parse(body);
  const reason = message ?? (body.trim() === '' ? 'no reason given' : 'the answer is not of this service');
  return new ApiError(status, `${request} failed with ${status}: ${reason}${advice(status, sent)}`, errors);
}

function advice(status: number, { token, hasLink }: SentCredentials): string {
  if (status === 401 && token !== undefined)
    return `\nThe token comes from ${token}. \`kr login\` stores another one; --anonymous reads without a token.`;
  if (status !== 401 && status !== 403) return '';
  if (token !== undefined) return `\nThe token from ${token} may lack the right to do this.`;
  return hasLink
    ? '\nOnly the token of the access link was sent. It may have expired, been revoked or not allow this.'
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
