/** Device names of Windows, with or without an extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)/i;

/**
 * The names of files in an archive, in their order: their keys, changed where a file system could not store them or would take two
 * for one because it ignores case or composition. Of those all but the first get a number.
 */
export function archiveNames(keys: readonly string[]): string[] {
  const taken = new Set<string>();
  const storable = keys.map(storableName);
  const unnumbered = new Set(storable.map(folded));
  return storable.map((wanted) => {
    let name = wanted;
    for (let number = 2; taken.has(folded(name)); number += 1) {
      const numbered = withNumber(wanted, number);
      if (!unnumbered.has(folded(numbered))) name = numbered;
    }
    taken.add(folded(name));
    return name;
  });
}

/** A name that every usual file system can store. */
function storableName(key: string): string {
  return key
    .replaceAll(/[<>:"|?*\p{Bidi_Control}]|(?<![. ])[. ]+$/gu, (found) => '_'.repeat(found.length))
    .replace(DEVICE, '_$&');
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

function withNumber(key: string, number: number): string {
  const [, stem = key, extension = ''] = /^(.+?)(\.[^.]*)?$/su.exec(key) ?? [];
  return `${stem} (${number})${extension}`;
}
