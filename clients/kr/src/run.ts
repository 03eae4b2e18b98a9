import { CommanderError } from 'commander';
import { Failure } from './failure.ts';
import { createProgram, type ProgramSurroundings } from './program.ts';

/** Runs one command line; answers with the exit code: 0 done, 1 it failed, 2 it was not understood. */
export async function run(
  args: readonly string[],
  surroundings: Omit<ProgramSurroundings, 'signal'>,
): Promise<number> {
  const end = new AbortController();
  try {
    await createProgram({ ...surroundings, signal: end.signal }).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof Failure)) throw error;
    surroundings.terminal.note(error.message);
    return 1;
  } finally {
    // When one of several transfers failed, the others are not waited for.
    end.abort();
  }
}
