/** Numbers from 0 up to 1, always the same ones for the same seed. */
export function seededRandom(seed: number): () => number {
  // A counter by the golden ratio, its bits mixed by multiplications: the weak low bits never show.
  let counter = seed | 0;
  return () => {
    counter = (counter + 0x9e3779b9) | 0;
    let bits = Math.imul(counter ^ (counter >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** One of several, by chance. */
export function oneOf<Item>(random: () => number, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('there is nothing to choose from');
  return item;
}
