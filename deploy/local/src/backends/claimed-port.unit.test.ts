import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { claimPort } from './claimed-port.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kr-claims-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a port', () => {
  test('is claimed once', () => {
    expect([claimPort(20_001, folder), claimPort(20_001, folder), claimPort(20_002, folder)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test('of a living process stays its own', () => {
    writeFileSync(join(folder, '20001'), String(process.ppid));
    expect(claimPort(20_001, folder)).toBe(false);
  });

  test('of a dead process is free, and nothing is left of the old claim', () => {
    const { pid } = spawnSync(process.execPath, ['--version']);
    writeFileSync(join(folder, '20001'), String(pid));
    expect(claimPort(20_001, folder)).toBe(true);
    expect(readdirSync(folder)).toEqual(['20001']);
  });
});
