import { dirname } from 'node:path';
import type { TestSystem } from '@kr/testbed/system';
import { run } from '../../../clients/kr/src/run.ts';
import { createTerminal } from '../../../clients/kr/src/terminal/terminal.ts';

export interface Said {
  code: number;
  out: string;
  err: string;
}

/** The output of `kr admin …` for an operator of the machine with only the data folder. */
export async function adminCommand(system: Pick<TestSystem, 'logDir'>, ...args: string[]): Promise<Said> {
  const said = { out: '', err: '' };
  const into = (name: keyof typeof said) => ({
    write: (text: string) => {
      said[name] += text;
    },
  });
  const dataDir = dirname(system.logDir);
  const code = await run(['admin', ...args, '--data-dir', dataDir], {
    terminal: createTerminal(into('out'), into('err')),
    env: {},
    cwd: dataDir,
  });
  return { code, ...said };
}
