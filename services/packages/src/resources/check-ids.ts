import { ServiceError } from '@kr/service-error';

const MOST = 100;

/** @throws ServiceError `invalid` unless there are 1 to 100 ids; `field` names the list in the body */
export function checkIds(ids: readonly string[], field: 'records' | 'resources'): void {
  if (ids.length >= 1 && ids.length <= MOST) return;
  throw new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: [`Length must be between 1 and ${MOST}.`] }],
  });
}
