/**
 * What the files are called in an archive, in their order: as they are, but where two names would be one to a file system
 * that does not tell cases or compositions of letters apart. Of those all but the first get a number.
 */
export function archiveNames(keys: readonly string[]): string[] {
  const taken = new Set<string>();
  const asKept = new Set(keys.map(folded));
  return keys.map((key) => {
    let name = key;
    for (let number = 2; taken.has(folded(name)); number += 1) {
      const numbered = withNumber(key, number);
      if (!asKept.has(folded(numbered))) name = numbered;
    }
    taken.add(folded(name));
    return name;
  });
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

function withNumber(key: string, number: number): string {
  const [, stem = key, extension = ''] = /^(.+?)(\.[^.]*)?$/su.exec(key) ?? [];
  return `${stem} (${number})${extension}`;
}
