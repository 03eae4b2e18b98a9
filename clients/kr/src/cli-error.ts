/** A failure that the person at the keyboard can understand; its message is printed as it is, without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
}
