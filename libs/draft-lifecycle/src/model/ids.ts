import { randomBytes } from 'node:crypto';

/**
 * Identifiers of entities and parents: eight random characters of Crockford's base32 and two check digits
 * (ISO 7064, MOD 97-10), in two groups of five: `e7vvn-90a62`.
 */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const RANDOM_CHARACTERS = 8;
const SHAPE = /^[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{3}[0-9]{2}$/;

/** The identifier of five random bytes. */
export function entityIdOf(randomBytes: Uint8Array): string {
  const bits = randomBytes.subarray(0, 5).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const characters = Array.from({ length: RANDOM_CHARACTERS }, (_, position) =>
    ALPHABET.charAt(Number((bits >> BigInt(35 - 5 * position)) & 31n)),
  ).join('');
  const id = characters + checkDigits(bits);
  return `${id.slice(0, 5)}-${id.slice(5)}`;
}

/** Whether a text can be an identifier of ours: anything else needs no look-up. */
export function isEntityId(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const characters = text.replace('-', '');
  const bits = [...characters.slice(0, RANDOM_CHARACTERS)].reduce(
    (sum, character) => (sum << 5n) | BigInt(ALPHABET.indexOf(character)),
    0n,
  );
  return characters.slice(RANDOM_CHARACTERS) === checkDigits(bits);
}

function checkDigits(bits: bigint): string {
  return String(98n - ((bits * 100n) % 97n)).padStart(2, '0');
}

/** A fresh identifier for an entity or a parent; 2⁴⁰ of them, so an insert may still meet one that is taken. */
export function newEntityId(): string {
  return entityIdOf(randomBytes(5));
}
