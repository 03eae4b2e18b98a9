import type { ConfirmSearchRequest__Output, ConfirmSearchResponse } from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import type { Logger } from '@kr/telemetry';

export interface ConfirmSearchDeps {
  consumer: Pick<Consumer, 'streamEnd'>;
  /** The longest wait for the bus, in milliseconds. */
  timeoutMs: number;
  logger: Logger;
}

/** SearchService.ConfirmSearch. What cannot be known is not confirmed. */
export function confirmSearch({ consumer, timeoutMs, logger }: ConfirmSearchDeps) {
  return async ({ streamEnd }: ConfirmSearchRequest__Output): Promise<ConfirmSearchResponse> => {
    const end = await consumer.streamEnd({ timeoutMs }).catch((error: unknown) => {
      logger.debug({ err: error }, 'the end of the stream is not known');
      return undefined;
    });
    return { isConfirmed: end === Number(streamEnd) };
  };
}
