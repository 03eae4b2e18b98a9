import type { Form } from './gen/messages.ts';

/** The names in messages of the two forms of an entity. */
export const FORM_NAMES = {
  draft: 'FORM_DRAFT',
  published: 'FORM_PUBLISHED',
} as const satisfies Record<string, Form>;

/** The form of a name in a message. */
export function formOf(name: string): keyof typeof FORM_NAMES {
  return name === FORM_NAMES.draft ? 'draft' : 'published';
}
