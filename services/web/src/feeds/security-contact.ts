const VALID_DAYS = 30;

/** GET /.well-known/security.txt (RFC 9116): the address for reports of vulnerabilities. It is valid for 30 days after each read. */
export function securityContact(baseUrl: string, contact: string, now: Date): string {
  const expires = new Date(now.getTime() + VALID_DAYS * 86_400_000);
  return `Contact: mailto:${contact}
Expires: ${expires.toISOString().slice(0, 10)}T00:00:00Z
Preferred-Languages: en
Canonical: ${baseUrl}/.well-known/security.txt
`;
}
