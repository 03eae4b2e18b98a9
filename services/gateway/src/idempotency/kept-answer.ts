/** An answer that a repeat is given again, byte by byte. */
export interface KeptAnswer {
  status: number;
  /** Those that speak of the body; names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array<ArrayBuffer>;
}

/** Answers that another try may turn out better for, or that speak of the moment: they are not kept. */
const PASSING = new Set([401, 408, 409, 412, 429]);

/** Whether a repeat is to hear this again rather than be tried anew. */
export function isFinal({ status }: Pick<KeptAnswer, 'status'>): boolean {
  return status < 500 && !PASSING.has(status);
}
