import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { loadSecrets } from './secrets.ts';
import { SERVICES } from './service-names.ts';

/** The data folder of an early release. */
const oneEach = (of: string) => Object.fromEntries(SERVICES.map((name) => [name, `${of} of ${name}`]));
const EARLY = {
  postgresPassword: 'p',
  filesTicketKey: 'f',
  accessLinksTicketKey: 'a',
  linkTokenKey: 'l',
  internalKeys: oneEach('internal key'),
  databasePasswords: oneEach('password'),
};

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-secrets-'));
  file = join(folder, 'secrets.json');
});
afterEach(() => rm(folder, { recursive: true }));

const all = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : Object.values(value as object).flatMap(all);

describe('the secrets of a data folder', () => {
  test('are generated once, all different, readable by this user only', async () => {
    const made = await loadSecrets(file);
    expect(await loadSecrets(file)).toEqual(made);
    expect(new Set(all(made)).size).toBe(all(made).length);
    expect(all(made).filter((secret) => secret.length < 43)).toEqual([]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['secrets.json']);
  });

  test('stay after an upgrade, beside new secrets; sealed data can still be opened', async () => {
    await writeFile(file, JSON.stringify(EARLY), { mode: 0o644 });
    const { internalKeys, ...kept } = EARLY;
    const { sealingKey, webKey, callerKeys, busPasswords, ...rest } = await loadSecrets(file);
    expect(rest).toEqual(kept);
    expect(sealingKey).toBe(internalKeys['gateway']);
    const callers = ['operator', ...SERVICES].sort();
    expect(Object.keys(busPasswords).sort()).toEqual(callers);
    expect(Object.keys(callerKeys).sort()).toEqual([...SERVICES].sort());
    for (const keys of Object.values(callerKeys)) expect(Object.keys(keys).sort()).toEqual(callers);
    const made = all({ webKey, callerKeys, busPasswords });
    expect(new Set(made).size).toBe(made.length);
    expect(all(internalKeys).filter((key) => made.includes(key))).toEqual([]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const written = JSON.parse(await readFile(file, 'utf8'));
    expect(written).toEqual({ ...kept, sealingKey, webKey, callerKeys, busPasswords });
    expect(await loadSecrets(file)).toEqual(written);
  });

  test('are those of a later folder, with its other contents ignored', async () => {
    const made = await loadSecrets(file);
    await writeFile(file, JSON.stringify({ ...made, internalKeys: EARLY.internalKeys }));
    expect(await loadSecrets(file)).toEqual(made);
  });

  test('are not generated again if they cannot be read', async () => {
    await writeFile(file, '{"postgresPassword": "p"');
    await expect(loadSecrets(file)).rejects.toThrow('JSON');
    expect(await readFile(file, 'utf8')).toBe('{"postgresPassword": "p"');
    await expect(loadSecrets(folder)).rejects.toThrow('EISDIR: illegal operation on a directory, read');
  });
});
