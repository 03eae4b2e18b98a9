import type { Socket } from 'node:net';
import type { Conditions } from './fault.ts';

/** Bytes that a proxy buffers for one direction before the sender has to wait, as on a real line. */
const MOST_WAITING_BYTES = 1024 * 1024;
/** Interval in milliseconds at which a limited line forwards bytes. */
const SLICE_MS = 20;
const NOTHING = Buffer.alloc(0);

interface Line {
  readonly from: Socket;
  readonly to: Socket;
  readonly conditions: () => Conditions;
  readonly random: () => number;
  /** How many of the bytes may pass before the connection is cut; undefined: all. */
  readonly allowed: (bytes: Buffer) => number | undefined;
  readonly cut: () => void;
  readonly onSwallowed: (bytes: number) => void;
}

/** Forwards the bytes of one connection in one direction under its conditions. */
export class OneWay {
  /** Something was swallowed, so that the rest would make no sense. */
  hasHole = false;
  readonly #line: Line;
  readonly #waiting: { bytes: Buffer; dueAt: number }[] = [];
  #waitingBytes = 0;
  #lastDueAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isBlocked = false;
  #hasEnded = false;
  #isCut = false;

  constructor(line: Line) {
    this.#line = line;
    line.from.on('data', (bytes: Buffer) => this.#take(bytes));
    line.from.on('end', () => this.#end());
    line.to.on('drain', () => {
      this.#isBlocked = false;
      this.#deliver();
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waiting.length = 0;
    this.#isCut = true;
  }

  #take(bytes: Buffer): void {
    if (this.#isCut) return;
    const { latencyMs, jitterMs, isBlackHole } = this.#line.conditions();
    if (isBlackHole || this.hasHole) {
      this.hasHole = true;
      this.#line.onSwallowed(bytes.length);
      return;
    }
    const allowed = this.#line.allowed(bytes);
    this.#isCut = allowed !== undefined;
    const passing = allowed === undefined ? bytes : bytes.subarray(0, allowed);
    this.#lastDueAt = Math.max(
      this.#lastDueAt,
      performance.now() + latencyMs + jitterMs * this.#line.random(),
    );
    this.#waiting.push({ bytes: passing, dueAt: this.#lastDueAt });
    this.#waitingBytes += passing.length;
    if (this.#waitingBytes >= MOST_WAITING_BYTES) this.#line.from.pause();
    this.#deliver();
  }

  #end(): void {
    if (this.#line.conditions().isBlackHole) this.hasHole = true;
    if (this.hasHole) return;
    this.#hasEnded = true;
    this.#deliver();
  }

  #deliver(): void {
    if (this.#timer !== undefined || this.#isBlocked) return;
    const { to, from } = this.#line;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) {
        this.#later(waitMs);
        return;
      }
      const { bytesPerSecond } = this.#line.conditions();
      const most = Math.max(1, Math.ceil((bytesPerSecond * SLICE_MS) / 1_000));
      const piece = next.bytes.subarray(0, Math.min(most, next.bytes.length));
      if (piece.length < next.bytes.length) next.bytes = next.bytes.subarray(piece.length);
      else this.#waiting.shift();
      this.#waitingBytes -= piece.length;
      // NOTE: a closed peer reads nothing; its bytes are dropped.
      const flows = !to.writable || piece.length === 0 || to.write(piece);
      if (this.#waitingBytes < MOST_WAITING_BYTES) from.resume();
      this.#isBlocked = !flows;
      if (Number.isFinite(bytesPerSecond)) this.#later((piece.length / bytesPerSecond) * 1_000);
      if (this.#isBlocked || this.#timer !== undefined) return;
    }
    if (this.#isCut) this.#cutOnceWritten();
    else if (this.#hasEnded) to.end();
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#deliver();
    }, ms);
  }

  /** NOTE: a reset throws away what has not been sent, so the last bytes must have left first. */
  #cutOnceWritten(): void {
    const { to, cut } = this.#line;
    if (to.writable) to.write(NOTHING, cut);
    else cut();
  }
}
