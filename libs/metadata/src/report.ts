import type { Issue } from '@kr/service-error';

/** Collects what is wrong, by field, in the order it was found. */
export interface Report {
  add(field: string, message: string): void;
  issues(): Issue[];
}

export function newReport(): Report {
  const messagesOf = new Map<string, string[]>();
  return {
    add(field, message) {
      const messages = messagesOf.get(field);
      if (messages) messages.push(message);
      else messagesOf.set(field, [message]);
    },
    issues: () => [...messagesOf].map(([field, messages]) => ({ field, messages })),
  };
}

/** The messages that several fields share; clients compare them (behaviour of the original API). */
export const MESSAGES = {
  missing: 'Missing data for required field.',
  nil: 'Field may not be null.',
  notText: 'Not a valid string.',
  notObject: 'Invalid input type.',
  notList: 'Not a valid list.',
  unknown: 'Unknown field.',
} as const;
