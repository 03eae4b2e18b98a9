import { type Command, CommanderError } from 'commander';
import { CliError } from './cli-error.ts';
import { createProgram, type ProgramContext } from './program.ts';

/** Runs one command line; returns the exit code: 0 success, 1 failure, 2 invalid usage. */
export async function run(args: readonly string[], context: Omit<ProgramContext, 'signal'>): Promise<number> {
  const end = new AbortController();
  try {
    const program = createProgram({ ...context, signal: end.signal });
    const unknown = unknownCommand(program, args);
    if (unknown !== undefined) {
      context.terminal.note(`error: unknown command '${unknown}'; kr --help lists the commands`);
      return 2;
    }
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof CliError)) throw error;
    context.terminal.note(error.message);
    return 1;
  } finally {
    // When one of several transfers failed, the others are not waited for.
    end.abort();
  }
}

/** A word that is not a command. With --help the library would print the help of another one. */
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
