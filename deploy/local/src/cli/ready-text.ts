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
  const user = first === undefined ? [userCommand(dataDir)] : userLines(first, credentialsFile);
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

function userCommand(dataDir: string): string {
  const where = dataDir === '.data' ? '' : ` --data-dir ${dataDir}`;
  return `  Users     npm run kr -- admin user create NAME${where}`;
}

function userLines(first: { credentials: Credentials; isNew: boolean }, file: string): string[] {
  const { base_url, user, token } = first.credentials;
  return [
    `  User      ${user}`,
    `  Token     ${first.isNew ? `${token} (also in ${file})` : `in ${file}`}`,
    '',
    '  Try:',
    `    curl -H "Authorization: Bearer ${first.isNew ? token : '$TOKEN'}" ${base_url}/api/user/packages`,
  ];
}
