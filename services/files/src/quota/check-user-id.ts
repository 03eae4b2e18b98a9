import { invalidField } from '../file-errors.ts';

const USER_ID = /^[0-9A-Za-z_.:-]{1,100}$/;

/** @throws ServiceError `invalid` */
export function checkUserId(userId: string): void {
  if (!USER_ID.test(userId)) throw invalidField('user_id', 'That is not the id of a user.');
}
