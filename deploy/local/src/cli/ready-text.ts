import type { Credentials } from './first-user.ts';

interface Ready {
  baseUrl: string;
  seconds: number;
  credentialsFile: string;
  first: { credentials: Credentials; isNew: boolean } | undefined;
}

/** What the user sees once everything is up. */
export function readyText({ baseUrl, seconds, credentialsFile, first }: Ready): string {
  const user = first === undefined ? [] : userLines(first, credentialsFile);
  return [
    '',
    `Ready after ${seconds.toFixed(1)} s.`,
    '',
    `  Base URL  ${baseUrl}`,
    ...user,
    '',
    '  Ctrl-C stops everything.',
    '',
  ].join('\n');
}

function userLines(first: { credentials: Credentials; isNew: boolean }, file: string): string[] {
  const { base_url, user, token } = first.credentials;
  const shownToken = first.isNew ? `${token} (shown this once; also in ${file})` : `in ${file}`;
  const inCommand = first.isNew ? token : '$TOKEN';
  return [
    `  User      ${user}`,
    `  Token     ${shownToken}`,
    '',
    '  Try:',
    `    curl -H 'Authorization: Bearer ${inCommand}' ${base_url}/api/user/packages`.replaceAll(
      "'",
      inCommand === '$TOKEN' ? '"' : "'",
    ),
  ];
}
