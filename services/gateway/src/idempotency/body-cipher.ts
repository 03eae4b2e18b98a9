import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/** Bodies as they are stored: an answer may contain a token, which readers of the database must not be able to use. */
export interface BodyCipher {
  encrypt(body: Uint8Array): Uint8Array<ArrayBuffer>;
  /** Undefined when it was encrypted with another secret, or not at all. */
  decrypt(encrypted: Uint8Array): Uint8Array<ArrayBuffer> | undefined;
}

/** AES-256-GCM (NIST SP 800-38D) with a key derived from the secret: nonce, tag and the encrypted body. */
export function bodyCipher(secret: string): BodyCipher {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'kr-stored-answer-1', 32));
  return {
    encrypt: (body) => {
      const nonce = randomBytes(NONCE_LENGTH);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_LENGTH });
      const text = Buffer.concat([cipher.update(body), cipher.final()]);
      return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), text]));
    },
    decrypt: (encrypted) => {
      if (encrypted.length < NONCE_LENGTH + TAG_LENGTH) return undefined;
      const opener = createDecipheriv(CIPHER, key, encrypted.subarray(0, NONCE_LENGTH), {
        authTagLength: TAG_LENGTH,
      });
      opener.setAuthTag(encrypted.subarray(NONCE_LENGTH, NONCE_LENGTH + TAG_LENGTH));
      const body = opener.update(encrypted.subarray(NONCE_LENGTH + TAG_LENGTH));
      try {
        opener.final();
      } catch {
        return undefined;
      }
      return new Uint8Array(body);
    },
  };
}
