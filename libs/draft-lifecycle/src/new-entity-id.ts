import { randomBytes } from 'node:crypto';
import { entityIdOf } from './id-rules.ts';

/** A fresh identifier for an entity or a parent; 2⁴⁰ of them, so an insert may still meet one that is taken. */
export function newEntityId(): string {
  return entityIdOf(randomBytes(5));
}
