import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { DefaultHttpStack, DetailedError, Upload, type UploadOptions } from 'tus-js-client';
import { CliError } from '../cli-error.ts';
import type { Settings } from '../settings/settings.ts';
import { toApiError } from './api-error.ts';
import { retryAfterMs } from './retry-delay.ts';

export interface UploadTarget extends Settings {
  endpoint: string;
  /** The address for a link; no request goes to another host than the base URL's. */
  resolveUrl: (url: string) => URL;
  headers: Record<string, string>;
  onRetry?: (reason: string, waitMs: number) => void;
  signal: AbortSignal;
}

// A chunk is read into memory; smaller files take one request.
const CHUNK_BYTES = 16 * 1024 * 1024;
const RETRY_DELAYS_MS = [250, 500, 1_000, 2_000, 4_000, 15_000, 30_000];
const MAX_WAIT_MS = 60_000;
const STALL_TIMEOUT_MS = 180_000;
/** Another request holds the upload, or nothing was done. */
const RETRIED_STATUSES = [409, 423, 429, 503];

/**
 * Uploads a file by tus. After a lost connection, tus-js-client requests the offset and continues there.
 * @throws ApiError for refusals of the service; CliError when the file cannot be read or no byte arrives for 3 minutes
 */
export async function uploadFile(
  target: UploadTarget,
  path: string,
  advance: (bytes: number) => void,
): Promise<void> {
  const { endpoint, headers, signal, onRetry } = target;
  let sent = 0;
  let stop: () => Promise<void> = async () => {};
  let stalled: NodeJS.Timeout | undefined;
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    await new Promise<void>((resolve, reject) => {
      const options: UploadOptions = {
        endpoint,
        headers,
        chunkSize: CHUNK_BYTES,
        uploadDataDuringCreation: size <= CHUNK_BYTES,
        retryDelays: RETRY_DELAYS_MS,
        fingerprint: async () => '',
        storeFingerprintForResuming: false,
        httpStack: stackAt(target),
        fileReader: {
          openFile: async () => ({
            size,
            slice: async (start, end) => {
              const buffer = Buffer.alloc(Math.min(end, size) - start);
              const { bytesRead } = await file.read(buffer, 0, buffer.length, start).catch((error) => {
                throw new CliError(`cannot read ${path}: ${error.code}`);
              });
              if (bytesRead < buffer.length) throw new CliError(`${path} changed while it was uploaded`);
              return { value: Object.assign(buffer, { size: bytesRead }), done: end >= size };
            },
            close: () => {},
          }),
        },
        onProgress: (bytes) => {
          stalled?.refresh();
          advance(bytes - sent);
          sent = bytes;
        },
        onAfterResponse: async (_request, response) => {
          const waitMs = retryAfterMs(response.getHeader('retry-after'), Date.now());
          if (waitMs !== undefined) await delay(Math.min(waitMs, MAX_WAIT_MS), undefined, { signal });
        },
        onShouldRetry: (error, attempt) => {
          if (signal.aborted || error.causingError instanceof CliError) return false;
          const status = error.originalResponse?.getStatus();
          if (status !== undefined && !RETRIED_STATUSES.includes(status)) return false;
          const reason = status === undefined ? causeOf(error) : `the service answered ${status}`;
          onRetry?.(reason, RETRY_DELAYS_MS[attempt] ?? 0);
          return true;
        },
        onError: reject,
        onSuccess: () => resolve(),
      };
      const upload = new Upload(Buffer.alloc(0), options);
      stop = () => upload.abort();
      stalled = setTimeout(() => reject(new CliError(`${path}: the upload stalled`)), STALL_TIMEOUT_MS);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      upload.start();
    });
    advance(size - sent);
  } catch (error) {
    await stop();
    throw explain(error, target, path);
  } finally {
    clearTimeout(stalled);
  }
}

/** Sends every request to the base URL, also if a link names another host. */
function stackAt({ resolveUrl }: UploadTarget): DefaultHttpStack {
  const stack = new DefaultHttpStack({});
  return {
    getName: () => stack.getName(),
    createRequest: (method, url) => stack.createRequest(method, resolveUrl(url).href),
  };
}

// The message of tus-js-client contains the address, which may contain the token of an access link.
function causeOf({ causingError }: DetailedError): string {
  return causingError?.message ?? 'the service answered no tus request';
}

function explain(error: unknown, { tokenFrom, linkToken, baseUrl }: UploadTarget, path: string): unknown {
  if (error instanceof CliError || !(error instanceof Error)) return error;
  if (!(error instanceof DetailedError))
    return 'code' in error ? new CliError(`cannot read ${path}: ${error.code}`) : error;
  if (error.causingError instanceof CliError) return error.causingError;
  const { originalRequest: request, originalResponse: response } = error;
  if (!response) return new CliError(`${baseUrl.origin} cannot be reached: ${causeOf(error)}`);
  const name = `${request.getMethod()} ${new URL(request.getURL()).pathname}`;
  const credentials = { token: tokenFrom, hasLink: linkToken !== undefined };
  return toApiError(name, response.getStatus(), response.getBody(), credentials);
}
