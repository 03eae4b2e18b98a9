import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_KINDS, ServiceError, type ServiceErrorOptions } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';

/** A refusal that only HTTP knows, with a status that no kind of ServiceError has; see those for everything else. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly status: number;
  readonly code: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    { code, headers = {} }: { code?: string; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** Bytes of a refused upload that are read and dropped, so that its sender receives the answer. */
const DRAIN_BYTES = 16_777_216;

/** Answers a failed request as `{"status", "message", "code"?, "errors"?}`; one that has begun to stream is cut off instead. */
export function respondError(
  thrown: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  logger: Logger,
): void {
  const error = thrown instanceof HttpRefusal ? thrown : ServiceError.from(thrown);
  if (error instanceof ServiceError && error.kind === 'internal')
    logger.error({ err: error.cause ?? error, method: request.method }, 'request failed');
  // A body that ends early must never look complete.
  if (response.headersSent) return void response.destroy();
  sendRefusal(response, error);
  drain(request);
}

/** Answers a request before the end of its body, and reads no more of it. */
export function answerAndClose(
  request: IncomingMessage,
  response: ServerResponse,
  reason: ServiceError | HttpRefusal,
): void {
  response.once('finish', () => request.destroy());
  response.setHeader('connection', 'close');
  sendRefusal(response, reason);
}

export function stalled(): HttpRefusal {
  return new HttpRefusal(408, 'The upload made no progress.');
}

function sendRefusal(response: ServerResponse, refusal: ServiceError | HttpRefusal): void {
  if (refusal instanceof ServiceError) {
    const { kind, message, issues, retryAfterMs, members, code = kind } = refusal;
    sendError(response, ERROR_KINDS[kind].http, message, { issues, retryAfterMs, members, code });
    return;
  }
  const { status, message, code, headers } = refusal;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  sendError(response, status, message, code === undefined ? {} : { code });
}

export function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  {
    issues = [],
    retryAfterMs,
    code,
    members,
  }: Pick<ServiceErrorOptions, 'issues' | 'retryAfterMs' | 'code' | 'members'> = {},
): void {
  const errors = issues.map(({ field, messages }) => ({ field, messages }));
  const body = Buffer.from(
    JSON.stringify({
      status,
      message,
      ...(code === undefined ? {} : { code }),
      ...(errors.length > 0 && { errors }),
      ...members,
    }),
  );
  if (retryAfterMs !== undefined) response.setHeader('retry-after', Math.ceil(retryAfterMs / 1_000));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

/** Discards the rest of a body, up to a limit after which the connection is closed. */
function drain(request: IncomingMessage): void {
  if (request.readableEnded || request.destroyed) return;
  let drained = 0;
  request.on('data', (chunk: Buffer) => {
    drained += chunk.length;
    if (drained > DRAIN_BYTES) request.destroy();
  });
  request.on('error', () => {});
  request.resume();
}
