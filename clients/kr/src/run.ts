import { type Command, CommanderError } from 'commander';
import { Failure } from './failure.ts';
import { createProgram, type ProgramSurroundings } from './program.ts';

/** Runs one command line; answers with the exit code: 0 done, 1 it failed, 2 it was not understood. */
export async function run(
  args: readonly string[],
  surroundings: Omit<ProgramSurroundings, 'signal'>,
): Promise<number> {
  const end = new AbortController();
  try {
    const program = createProgram({ ...surroundings, signal: end.signal });
    const unknown = unknownCommand(program, args);
    if (unknown !== undefined) {
      surroundings.terminal.note(`error: unknown command '${unknown}'; kr --help lists the commands`);
      return 2;
    }
    await program.parseAsync(args, { from: 'user' });
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

/** A word in the place of a command that there is none of. With --help the library would print the help of another one. */
function unknownCommand(program: Command, args: readonly string[]): string | undefined {
  let command = program;
  for (const word of args) {
    if (word.startsWith('-') || word === 'help' || command.commands.length === 0) return undefined;
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) return word;
    command = next;
  }
  return undefined;
}
