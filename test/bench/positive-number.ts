/** @throws Error that names the option: not a number above 0 */
export function positiveNumber(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new Error(`${option} must be a number above 0, not "${text}"`);
  return value;
}
