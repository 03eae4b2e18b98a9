import type { Readable } from 'node:stream';
import type { ByteRange } from '../blob/blob-store.ts';
import type { Validators } from './precondition.ts';

/** What a GET of one resource answers with: bytes whose number is known before they are read, whole or in parts. */
export interface Representation extends Validators {
  sizeBytes: number;
  /** The media type of all the bytes. */
  type: string;
  /** What else is told of the bytes, whichever part of them is sent. */
  headers: Readonly<Record<string, string>>;
  /** What is told only where all the bytes are sent. */
  wholeHeaders: Readonly<Record<string, string>>;
  /** What a client must not do with the bytes; told again where only their state is confirmed. */
  safety: Readonly<Record<string, string>>;
  /**
   * Where the bytes lie as one file below the folder of the store, for who sends them from there; undefined where they do
   * not. It fails as `open` does.
   */
  storedPath?(): Promise<string | undefined>;
  /** The bytes of a part, in chunks for this reader alone. It fails before anything is told of the answer when there are others than were promised. */
  open(part: ByteRange): Promise<Readable>;
}
