import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { openDrain } from '@kr/http-drain';
import { ServiceError } from '@kr/service-error';
import { nameRequest, traceRequests } from '@kr/telemetry';
import type { FileAccess } from './access.ts';
import type { FilesContext } from './context.ts';
import { getArchive } from './downloads/archive.ts';
import { getContent } from './downloads/get-content.ts';
import {
  type ArchivePath,
  type BytesPath,
  parseContentPath,
  type Respond,
  type RespondToAnyone,
} from './http/content-path.ts';
import { respondError, sendError } from './http/errors.ts';
import { observeTransfers } from './http/transfers.ts';
import { putContent } from './uploads/put-content.ts';
import { answerTus, tusCapabilities } from './uploads/tus.ts';

export interface ContentServer {
  port: number;
  /** Lets running transfers finish for the grace period, then aborts them. May be called twice. */
  stop(graceMs: number): Promise<void>;
}

/** `access` is the access that the ticket must permit. */
type Route<Path> =
  | { access: FileAccess; respond: Respond<Path> }
  | { access: 'none'; respond: RespondToAnyone };

/** Method -> how it is answered. */
type Routes<Path> = Readonly<Record<string, Route<Path>>>;

/** Opens the content port: files by HTTP, allowed by the ticket in the header `kr-ticket`. */
export async function startContentServer(
  context: FilesContext,
  { host, port }: { host: string; port: number },
): Promise<ContentServer> {
  const get: Route<BytesPath> = { access: 'read', respond: getContent(context) };
  const contentRoutes: Routes<BytesPath> = {
    GET: get,
    HEAD: get,
    PUT: { access: 'write', respond: putContent(context) },
  };
  const tus: Route<BytesPath> = { access: 'write', respond: answerTus(context) };
  const options: Route<BytesPath> = { access: 'none', respond: tusCapabilities(context) };
  const allUploads: Routes<BytesPath> = { OPTIONS: options, POST: tus };
  const oneUpload: Routes<BytesPath> = { OPTIONS: options, HEAD: tus, PATCH: tus, DELETE: tus };
  const archive: Route<ArchivePath> = { access: 'read', respond: getArchive(context) };
  const archiveRoutes: Routes<ArchivePath> = { GET: archive, HEAD: archive };

  const answer = async <Path extends { entityId: string }>(
    routes: Routes<Path>,
    path: Path,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const route = routes[request.method ?? ''];
    if (route === undefined) {
      response.setHeader('allow', Object.keys(routes).join(', '));
      return sendError(response, 405, 'The method is not allowed for the requested URL.');
    }
    if (route.access === 'none') return route.respond(response);
    const ticket = context.openTicket(headerOf(request, 'kr-ticket'), route.access);
    if (ticket.entityId !== path.entityId) throw new ServiceError('forbidden', 'Permission denied.');
    await route.respond(request, response, ticket, path);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const path = parseContentPath(request.url ?? '');
      nameRequest(request.method ?? '', `/${path.resource}`);
      if (path.resource === 'archive') return await answer(archiveRoutes, path, request, response);
      const uploadRoutes = path.uploadId === undefined ? allUploads : oneUpload;
      await answer(path.resource === 'content' ? contentRoutes : uploadRoutes, path, request, response);
    } catch (error) {
      if (isGone(request, response)) return context.logger.debug({ err: error }, 'transfer interrupted');
      respondError(error, request, response, context.logger);
    }
  };
  const observed = observeTransfers();
  const onRequest = traceRequests((request, response) => {
    observed.begin(request, response);
    void handle(request, response);
  });

  // Node's request time-out counts the body and would cut slow uploads; progress is watched instead.
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: 10_000,
    connectionsCheckingInterval: 5_000,
    keepAliveTimeout: 65_000,
  });
  server.on('request', onRequest).on('checkContinue', onRequest).on('clientError', answerBadRequest);
  const drain = openDrain(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: (graceMs) => drain(graceMs).finally(observed.stop),
  };
}

function headerOf(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
}

function isGone(request: IncomingMessage, response: ServerResponse): boolean {
  return response.destroyed || response.writableEnded || (request.destroyed && !request.complete);
}

const UNREADABLE: Readonly<Record<string, { status: string; message: string }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', message: 'The request took too long.' },
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: 'The headers are too large.',
  },
  HPE_INVALID_EOF_STATE: { status: '400 Bad Request', message: 'Content-Length does not match file size.' },
};

/** Requests that the parser rejects, and bodies that end before their declared length. */
function answerBadRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const { status, message } = UNREADABLE[error.code ?? ''] ?? {
    status: '400 Bad Request',
    message: 'Bad request.',
  };
  const body = JSON.stringify({ status: Number.parseInt(status, 10), message });
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
}
