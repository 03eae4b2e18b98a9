/** What comes until the source ends or breaks; a break is told and ends it as well. */
export async function* untilBroken(
  source: AsyncIterable<Uint8Array>,
  onBroken: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (error) {
    onBroken(error);
  }
}
