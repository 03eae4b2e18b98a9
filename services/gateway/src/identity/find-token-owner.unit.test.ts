import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { mintToken } from './access-token.ts';
import { findTokenOwner } from './find-token-owner.ts';
import type { TokenRow } from './token-store.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_START = 'kpat_'.length;
const SECRET_END = SECRET_START + 32;

const ROW: TokenRow = {
  id: 't',
  scopes: [],
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: new Date('2199-01-01'),
  user: { id: 7, name: 'ada', isAdmin: false },
  userDisabledAt: null,
};

const digest = (token: string) => createHash('sha256').update(token).digest('hex');

/** A token of this secret, as a person who knows the format would make it. */
function tokenOf(secret: string): string {
  let rest = crc32(secret);
  let sum = '';
  for (let place = 0; place < 6; place += 1) {
    sum = `${ALPHABET[rest % 62]}${sum}`;
    rest = Math.floor(rest / 62);
  }
  return `kpat_${secret}${sum}`;
}

describe('the owner of a token', () => {
  test('is looked up by its digest alone, even if a wrong one is similar to a right one', async () => {
    const right = mintToken();
    const lookups: string[] = [];
    const store = {
      findToken: async (hash: Uint8Array) => {
        lookups.push(Buffer.from(hash).toString('hex'));
        return lookups.at(-1) === digest(right) ? ROW : undefined;
      },
      markUsed: async () => undefined,
    };
    const find = findTokenOwner(store, () => new Date(), { warn: () => undefined });
    expect(await find(right)).toMatchObject({ userId: '7' });

    const start = right.slice(SECRET_START, SECRET_END - 1);
    const near = [...ALPHABET].map((last) => tokenOf(start + last)).filter((token) => token !== right);
    const messages = await Promise.all(
      near.map((token) =>
        find(token).then(
          () => 'found',
          ({ message }: Error) => message,
        ),
      ),
    );
    expect({ near: near.length, messages: new Set(messages), lookups }).toEqual({
      near: 61,
      messages: new Set(['The access token is unknown.']),
      lookups: [right, ...near].map(digest),
    });
  });
});
