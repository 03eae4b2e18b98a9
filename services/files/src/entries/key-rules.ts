const MAX_KEY_BYTES = 255;

/** What is wrong with a file's key. `length` has a message of its own in the public API. */
export type KeyProblem = 'empty' | 'length' | 'characters';

/**
 * A key is 1 to 255 bytes of UTF-8 without control characters, characters that change the direction of text, `/` and `\`, and
 * neither `.` nor `..`. It is stored exactly as sent and never becomes a path. U+FFFD stands for what could not be sent as it was.
 */
export function keyProblem(key: string): KeyProblem | undefined {
  if (key === '') return 'empty';
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return 'length';
  if (key === '.' || key === '..' || /[\p{Cc}\p{Bidi_Control}/\\\ufffd]/u.test(key) || !key.isWellFormed())
    return 'characters';
  return undefined;
}
