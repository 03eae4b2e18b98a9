/** What the recorded identifiers, tokens and addresses are in the running system. */
export interface KnownIds {
  learn(recorded: string, ours: string): void;
  ours(recorded: string): string | undefined;
  /** A recorded text as the running system would write it. */
  translate(recorded: string): string;
  /** A text of ours as the recording would write it. */
  recorded(ours: string): string;
  /** Whether a text of ours is what was recorded; unknown identifiers in it are learnt by that. */
  matches(recorded: string, ours: string): boolean;
}

/** Short identifiers of entities, and UUIDs. */
const IDENTIFIER =
  /(?<![\w-])(?:[\da-hjkmnp-tv-z]{5}-[\da-hjkmnp-tv-z]{3}\d\d|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\w-])/g;

const BASE_URL = '{base_url}';

export function knownIds(baseUrl: string): KnownIds {
  const known = new Map<string, string>();
  const recordedOf = new Map<string, string>();
  const translate = (text: string): string =>
    text.replaceAll(BASE_URL, baseUrl).replace(IDENTIFIER, (id) => known.get(id) ?? id);
  const learn = (recorded: string, ours: string): void => {
    known.set(recorded, ours);
    recordedOf.set(ours, recorded);
  };
  return {
    learn,
    ours: (recorded) => known.get(recorded),
    translate,
    recorded: (ours) =>
      ours.replaceAll(baseUrl, BASE_URL).replace(IDENTIFIER, (id) => recordedOf.get(id) ?? id),
    matches(recorded, ours) {
      if (translate(recorded) === ours) return true;
      const all = recorded.match(IDENTIFIER) ?? [];
      const found = ours.match(IDENTIFIER) ?? [];
      const unknown = all.filter((id) => !known.has(id));
      if (unknown.length === 0 || found.length !== all.length) return false;
      const learnt = new Map(all.map((id, index): [string, string] => [id, found[index] ?? '']));
      const guess = recorded
        .replaceAll(BASE_URL, baseUrl)
        .replace(IDENTIFIER, (id) => known.get(id) ?? learnt.get(id) ?? id);
      if (guess !== ours) return false;
      for (const id of unknown) learn(id, learnt.get(id) ?? '');
      return true;
    },
  };
}
