/** HTTP/2 (RFC 9113, section 4.1): length, type, flags and stream of a frame. */
const FRAME_HEADER_BYTES = 9;
const PREFACE_BYTES = 24;
const HEADERS = 1;

/** Counts the requests of one HTTP/2 connection by the bytes of its client, from the first one on. */
export class CallCounter {
  calls = 0;
  #rest: Buffer = Buffer.alloc(0);
  #skip = PREFACE_BYTES;

  /** Takes the next bytes, cut anywhere. */
  take(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const skipped = Math.min(this.#skip, this.#rest.length);
      this.#skip -= skipped;
      this.#rest = this.#rest.subarray(skipped);
      if (this.#skip > 0 || this.#rest.length < FRAME_HEADER_BYTES) return;
      if (this.#rest[3] === HEADERS) this.calls += 1;
      this.#skip = FRAME_HEADER_BYTES + this.#rest.readUIntBE(0, 3);
    }
  }
}
