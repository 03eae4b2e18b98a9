/** A refusal that only HTTP knows: no such route, method, media type. Everything else is a ServiceError. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: ProblemDetails;

  constructor(
    status: number,
    message: string,
    headers: Record<string, string> = {},
    details: ProblemDetails = {},
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.details = details;
  }
}

/** Further members of the body beside status and message. */
export interface ProblemDetails {
  code?: string | undefined;
  hint?: string | undefined;
  errors?: readonly object[] | undefined;
}

export function unknownUrl(): HttpProblem {
  return new HttpProblem(
    404,
    'The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.',
    {},
    { code: 'unknown_url' },
  );
}

export function methodNotAllowed(allowed: readonly string[]): HttpProblem {
  return new HttpProblem(
    405,
    'The method is not allowed for the requested URL.',
    { allow: allowed.join(', ') },
    { code: 'method_not_allowed' },
  );
}
