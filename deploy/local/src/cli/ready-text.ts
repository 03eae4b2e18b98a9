import type { Credentials } from './first-user.ts';

interface Ready {
  baseUrl: string;
  seconds: number;
  dataDir: string;
  credentialsFile: string;
  first: { credentials: Credentials; isNew: boolean } | undefined;
}

/** The text for the user when the system is ready. */
export function readyText({ baseUrl, seconds, dataDir, credentialsFile, first }: Ready): string {
  const user = first === undefined ? [howToMakeUsers(dataDir)] : userLines(first, credentialsFile);
  return [
    '',
    `Ready after ${seconds.toFixed(1)} s.`,
    '',
    `  Pages     ${baseUrl}/`,
    `  API       ${baseUrl}/api`,
    ...user,
    '',
    '  Ctrl-C stops everything.',
    '',
  ].join('\n');
}

function howToMakeUsers(dataDir: string): string {
  const where = dataDir === '.data' ? '' : ` --data-dir ${dataDir}`;
  return `  Users     npm run kr -- admin user create NAME${where}`;
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
