import type { Socket } from 'node:net';
import type { Conditions, Cut, Direction } from './fault.ts';
import { OneWay } from './one-way.ts';

interface Surroundings {
  readonly conditions: (direction: Direction) => Conditions;
  readonly random: () => number;
  /** The cut that waits for its connection, if any. */
  readonly awaitedCut: () => Cut | undefined;
  /** This connection is the one, and has been cut. */
  readonly onCut: (cut: Cut) => void;
  readonly onSwallowed: (bytes: number) => void;
  readonly onSent: (bytes: Buffer) => void;
  readonly onClosed: () => void;
}

/** One client's connection through a proxy: its two sockets and the bytes between them. */
export class Connection {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #surroundings: Surroundings;
  readonly #ways: Record<Direction, OneWay>;
  /** The cut whose `when` is true here, and the number of its bytes already forwarded. */
  #counted: { cut: Cut; passed: number } | undefined;

  constructor(client: Socket, server: Socket, surroundings: Surroundings) {
    this.#client = client;
    this.#server = server;
    this.#surroundings = surroundings;
    this.#ways = {
      'to server': this.#way('to server', client, server),
      'to client': this.#way('to client', server, client),
    };
    this.#watch(client, 'to server');
    this.#watch(server, 'to client');
  }

  get hasHole(): boolean {
    return this.#ways['to server'].hasHole || this.#ways['to client'].hasHole;
  }

  /** Breaks the connection on both sides, as a router or a killed process would. */
  reset(): void {
    for (const way of Object.values(this.#ways)) way.stop();
    for (const socket of [this.#client, this.#server]) resetSocket(socket);
  }

  #way(direction: Direction, from: Socket, to: Socket): OneWay {
    const { conditions, random, onSwallowed } = this.#surroundings;
    return new OneWay({
      from,
      to,
      random,
      onSwallowed,
      conditions: () => conditions(direction),
      allowed: (bytes) => this.#allowed(direction, bytes),
      cut: () => this.reset(),
    });
  }

  #watch(socket: Socket, direction: Direction): void {
    socket.setNoDelay(true);
    socket.on('error', () => {
      const way = this.#ways[direction];
      if (this.#surroundings.conditions(direction).isBlackHole) way.hasHole = true;
      else this.reset();
    });
    socket.on('close', () => {
      if (this.#client.destroyed && this.#server.destroyed) this.#surroundings.onClosed();
    });
  }

  #allowed(direction: Direction, bytes: Buffer): number | undefined {
    if (direction === 'to server') this.#surroundings.onSent(bytes);
    const cut = this.#surroundings.awaitedCut();
    if (cut === undefined) return undefined;
    if (this.#counted?.cut !== cut) {
      const begins = cut.when === undefined || (direction === 'to server' && cut.when(bytes));
      if (!begins) return undefined;
      this.#counted = { cut, passed: 0 };
    }
    if (direction !== cut.direction) return undefined;
    const left = cut.afterBytes - this.#counted.passed;
    this.#counted.passed += bytes.length;
    if (bytes.length < left) return undefined;
    this.#surroundings.onCut(cut);
    return left;
  }
}

/** While its end is on the way a socket refuses to be reset, and then neither closes nor lets its process end. */
function resetSocket(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  if (isEnding) socket.once('finish', () => socket.resetAndDestroy());
  else socket.resetAndDestroy();
}
