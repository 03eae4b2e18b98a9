import type { Issue as IssueMessage } from '@kr/contracts';
import type { Issue } from '@kr/service-error';

const UNKNOWN = 'Unknown field.';

export function issue(field: string, message: string): Issue {
  return { field, messages: [message] };
}

/** `Unknown field.` for each key that is not one of the known ones. */
export function unknownKeys(value: object, known: readonly string[], path: string): Issue[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => issue(`${path}.${key}`, UNKNOWN));
}

/** The issues that remain with a saved draft: an unknown field was reported once and dropped. */
export function withoutUnknownFields(issues: readonly Issue[]): Issue[] {
  return issues
    .map((one) => ({ ...one, messages: one.messages.filter((message) => message !== UNKNOWN) }))
    .filter(({ messages }) => messages.length > 0);
}

/** The issues of one part of the document, such as `access`. */
export function issuesOf(issues: readonly Issue[], part: string): Issue[] {
  return issues.filter(({ field }) => field === part || field.startsWith(`${part}.`));
}

/** Issues as they cross a process boundary. */
export function issueMessages(issues: readonly Issue[]): IssueMessage[] {
  return issues.map(({ field, messages, record }) => ({
    field,
    messages: [...messages],
    record: record ?? '',
  }));
}
