import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { AUDIT_ACTIONS } from '@kr/audit-trail';

const read = (path: string) => readFile(join(import.meta.dirname, '../..', path), 'utf8');

describe('the actions of the audit trail', () => {
  test('are listed on the page', async () => {
    const page = await read('docs/audit-trail.md');
    const rows = page.split('\n').filter((line) => /^\| `[a-z]+\.[a-z_]+`/.test(line));
    const explained = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([a-z_.]+)`/g)].map(([, action]) => action),
    );
    expect(explained.sort()).toEqual([...AUDIT_ACTIONS].sort());
  });

  test('are those of the description of the interface', async () => {
    const text = await read('services/gateway/openapi.yaml');
    const [, list = ''] = /\n {4}AuditEntry:[\s\S]*?enum:\s*\[([^\]]*)\]/.exec(text) ?? [];
    expect([...list.matchAll(/[a-z_.]+/g)].map(([action]) => action).sort()).toEqual(
      [...AUDIT_ACTIONS].sort(),
    );
  });
});
