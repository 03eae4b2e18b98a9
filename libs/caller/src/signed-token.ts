import { createHmac, timingSafeEqual } from 'node:crypto';

/** `<payload>.<mac>`, both base64url; the purpose prevents the use of a token for another purpose. */
export function signToken(purpose: string, payload: unknown, key: string): string {
  const body = Buffer.from(JSON.stringify(payload)).toString('base64url');
  return `${body}.${mac(purpose, body, key).toString('base64url')}`;
}

/** The payload as it was signed, or undefined when the token is malformed or signed otherwise. */
export function openToken(purpose: string, token: string, key: string): unknown {
  const [body, signature, ...rest] = token.split('.');
  if (body === undefined || signature === undefined || rest.length > 0) return undefined;
  const expected = mac(purpose, body, key);
  const received = Buffer.from(signature, 'base64url');
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return undefined;
  return JSON.parse(Buffer.from(body, 'base64url').toString());
}

function mac(purpose: string, body: string, key: string): Buffer {
  return createHmac('sha256', key).update(`${purpose}.${body}`).digest();
}
