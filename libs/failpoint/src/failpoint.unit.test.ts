import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { around, FAILPOINTS, failpoint } from './index.ts';
import { readOrders } from './orders.ts';

const INDEX = join(import.meta.dirname, 'index.ts');

/** A separate process with these orders; its log, its output and its exit. */
function run(orders: string, body: string) {
  const program = `
    import { armFailpoints, around, failpoint } from ${JSON.stringify(INDEX)};
    const print = (text) => process.stdout.write(text + ' ');
    armFailpoints(process.env.FAILPOINT, { warn: ({ failpoint, hit }, text) => print(failpoint ? failpoint + '#' + hit : text.slice(0, 10)) });
    ${body}`;
  const { stdout, stderr, signal, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', program],
    {
      env: { FAILPOINT: orders },
      encoding: 'utf8',
    },
  );
  return { lines: stdout.trim(), signal, status, stderr };
}

describe('failpoints', () => {
  test('cost nothing unarmed: a call is returned unchanged, a place does nothing', () => {
    const call = async () => 1;
    expect({
      call: around('publish.commit', call) === call,
      place: failpoint('publish.commit.inside'),
    }).toEqual({
      call: true,
      place: undefined,
    });
  });

  test('kill at the place and at once, after logging it', () => {
    const ended = run(
      'publish.commit.after:kill',
      `const commit = around('publish.commit', async () => print('committed'));
       process.on('exit', () => print('exit'));
       try { await commit(); print('after'); } finally { print('finally'); }`,
    );
    expect(ended).toMatchObject({ lines: 'failpoints committed publish.commit.after#1', signal: 'SIGKILL' });
  });

  test('fail at the requested hit, or at each', () => {
    const hits = `for (let n = 1; n <= 3; n += 1) await failpoint('outbox.send.before').then(() => print('passed'), (error) => print(error.message));`;
    expect([run('outbox.send.before:error@2', hits), run(' outbox.send.before:error', hits)]).toMatchObject([
      { lines: 'failpoints passed outbox.send.before#2 failpoint outbox.send.before passed', status: 0 },
      {
        lines: `failpoints ${[1, 2, 3].map((hit) => `outbox.send.before#${hit} failpoint outbox.send.before`).join(' ')}`,
        status: 0,
      },
    ]);
  });

  test('pause', () => {
    const timed = `const since = performance.now(); await failpoint('files.sync.after'); print(performance.now() - since >= 49 ? 'later' : 'at once');`;
    expect(run('files.sync.after:pause:50', timed).lines).toBe('failpoints files.sync.after#1 later');
  });

  test.each([
    ['', []],
    [
      'publish.begin.before:kill, files.sync.after:pause:250@3,outbox.mark.after:error',
      [
        { failpoint: 'publish.begin.before', failure: { do: 'kill' } },
        { failpoint: 'files.sync.after', failure: { do: 'pause', ms: 250 }, nth: 3 },
        { failpoint: 'outbox.mark.after', failure: { do: 'error' } },
      ],
    ],
  ])('read %j', (text, orders) => {
    expect(readOrders(text)).toEqual(orders);
  });

  test.each([
    'publish.begin.before',
    'publish.begin.before:die',
    'outbox.mark.after:kill@0',
    'outbox.mark.after:pause',
    ',',
  ])('refuse %j', (text) => {
    expect(() => readOrders(text)).toThrow(/^FAILPOINT: ".*" is not <name>:kill/);
  });

  test('reject an unknown name at the start, and list all names', () => {
    const ended = run('publish.comit.before:kill', "print('started')");
    expect({
      lines: ended.lines,
      status: ended.status,
      missing: FAILPOINTS.filter((name) => !ended.stderr.includes(name)),
    }).toEqual({
      lines: '',
      status: 1,
      missing: [],
    });
  });
});
