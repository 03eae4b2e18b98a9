import type { Issue } from '@kr/service-error';
import type { Vocabularies } from './vocabularies.ts';

/** Collects what is wrong, by field, in the order it was found. */
export interface Report {
  add(field: string, message: string): void;
  issues(): Issue[];
  /** A problem with which not even a draft is saved. */
  refuse(field: string, message: string): void;
  fatal(): Issue[];
  /** HTML of the document so far: `<` characters before cleaning, and UTF-16 units after it. */
  html: { tags: number; length: number };
}

/** The report of the check of fields, with the vocabularies that they look their values up in. */
export interface FieldReport extends Report {
  readonly vocabularies: Vocabularies;
}

/** Problems listed for one document. A body of 1 MB can have more than 600,000. */
const MAX_PROBLEMS = 100;

/** The first problems of a document, and a last entry if there are more. */
export function firstIssues(issues: readonly Issue[]): Issue[] {
  return issues.length > MAX_PROBLEMS ? [...issues.slice(0, MAX_PROBLEMS), MORE_ISSUES] : [...issues];
}

const MORE_ISSUES: Issue = {
  field: '_schema',
  messages: [`There are more problems; the first ${MAX_PROBLEMS} are listed.`],
};

export function newReport(): Report {
  const messagesOf = new Map<string, string[]>();
  const fatal: Issue[] = [];
  let problems = 0;
  return {
    html: { tags: 0, length: 0 },
    // One is enough to refuse a document.
    refuse(field, message) {
      if (fatal.length === 0) fatal.push({ field, messages: [message] });
    },
    fatal: () => fatal,
    add(field, message) {
      problems += 1;
      if (problems > MAX_PROBLEMS) return;
      const messages = messagesOf.get(field);
      if (messages) messages.push(message);
      else messagesOf.set(field, [message]);
    },
    issues: () => {
      const issues = [...messagesOf].map(([field, messages]) => ({ field, messages }));
      return problems > MAX_PROBLEMS ? [...issues, MORE_ISSUES] : issues;
    },
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
