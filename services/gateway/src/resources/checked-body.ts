import { ServiceError } from '@kr/service-error';

/**
 * What `read` makes of a body. What is wrong with a body is only told to who may do what it is for: for a bad body
 * the service is asked to do nothing, and if it refuses for another reason, that is the answer.
 *
 * @throws ServiceError what `doNothing` throws unless it is `invalid`; else what `read` throws
 */
export async function checkedBody<Value>(
  read: () => Value,
  doNothing: () => Promise<unknown>,
): Promise<Value> {
  try {
    return read();
  } catch (invalid) {
    await doNothing().catch((thrown: unknown) => {
      if (ServiceError.from(thrown).kind !== 'invalid') throw thrown;
    });
    throw invalid;
  }
}
