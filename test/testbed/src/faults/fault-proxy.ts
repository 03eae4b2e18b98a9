import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Connection } from './connection.ts';
import {
  type Conditions,
  type Cut,
  conditionsOf,
  type Direction,
  describeFault,
  type Fault,
} from './fault.ts';
import { type FaultLog, openFaultLog } from './fault-log.ts';

export interface FaultProxyOptions {
  /** Name in the log; default: the target's address. */
  name?: string;
  /** May be shared by several proxies of one test; default: a new log. */
  log?: FaultLog;
  /** For jitter. Numbers from 0 up to 1. */
  random?: () => number;
}

/** Receives each chunk that clients send; `connection` identifies the connection. */
export type Watcher = (bytes: Buffer, connection: object) => void;

/**
 * A TCP proxy on 127.0.0.1 that injects faults: slow, narrow, silent and broken connections. Without faults it forwards
 * bytes, half-closed connections and back-pressure unchanged.
 */
export class FaultProxy {
  readonly name: string;
  readonly log: FaultLog;
  /** How many connections were cut. */
  cuts = 0;
  /** How many bytes went into black holes. */
  swallowedBytes = 0;
  readonly #target: { host: string; port: number };
  readonly #random: () => number;
  readonly #listener: Server;
  readonly #faults = new Set<Fault>();
  readonly #connections = new Set<Connection>();
  #conditions: Record<Direction, Conditions>;
  #awaitedCut: Cut | undefined;
  #watcher: Watcher | undefined;

  private constructor(target: { host: string; port: number }, options: FaultProxyOptions) {
    this.#target = target;
    this.name = options.name ?? `${target.host}:${target.port}`;
    this.log = options.log ?? openFaultLog();
    this.#random = options.random ?? Math.random;
    this.#conditions = this.#newConditions();
    this.#listener = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** @param target `host:port` */
  static async start(target: string, options: FaultProxyOptions = {}): Promise<FaultProxy> {
    const { hostname, port } = new URL(`tcp://${target}`);
    const proxy = new FaultProxy({ host: hostname, port: Number(port) }, options);
    await new Promise<void>((resolve, reject) => {
      proxy.#listener.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  /** `host:port` to connect to instead of the target. */
  get address(): string {
    return `127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  /** Connections that are not closed on both sides. */
  get connections(): number {
    return this.#connections.size;
  }

  /** The same URL by way of this proxy. */
  urlThrough(url: string): string {
    const through = new URL(url);
    through.host = this.address;
    return through.href;
  }

  /** Applies to old and new connections until the returned function is called. */
  inflict(fault: Fault): () => void {
    this.#note(describeFault(fault));
    this.#faults.add(fault);
    this.#conditions = this.#newConditions();
    return () => {
      if (!this.#faults.delete(fault)) return;
      this.#note(`end of ${describeFault(fault)}`);
      this.#conditions = this.#newConditions();
      if (fault.kind === 'black hole') this.#resetThose((connection) => connection.hasHole);
    };
  }

  /** Resets every open connection. */
  reset(): void {
    this.#note(`reset of ${this.connections} connections`);
    this.#resetThose(() => true);
  }

  /**
   * Cuts one connection: the next that reaches that point, unless the returned function is called before. Replaces a cut
   * that has not happened.
   */
  cutNext(cut: Cut): () => void {
    this.#awaitedCut = cut;
    return () => {
      if (this.#awaitedCut === cut) this.#awaitedCut = undefined;
    };
  }

  /** From now on; replaces the former watcher. */
  watch(watcher: Watcher): void {
    this.#watcher = watcher;
  }

  /** Closes everything. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#listener.close(() => resolve());
    });
    this.#resetThose(() => true);
    await closed;
  }

  #accept(client: Socket): void {
    if ([...this.#faults].some(({ kind }) => kind === 'refuse')) {
      client.on('error', () => undefined).resetAndDestroy();
      return;
    }
    const server = connect({ ...this.#target, allowHalfOpen: true });
    const connection = new Connection(client, server, {
      random: this.#random,
      conditions: (direction) => this.#conditions[direction],
      awaitedCut: () => this.#awaitedCut,
      onCut: (cut) => {
        this.#awaitedCut = undefined;
        this.cuts += 1;
        this.#note(`cut ${cut.direction} after ${cut.afterBytes} bytes`);
      },
      onSwallowed: (bytes) => {
        this.swallowedBytes += bytes;
      },
      onSent: (bytes) => this.#watcher?.(bytes, connection),
      onClosed: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
  }

  #resetThose(isMeant: (connection: Connection) => boolean): void {
    for (const connection of this.#connections) if (isMeant(connection)) connection.reset();
  }

  #newConditions(): Record<Direction, Conditions> {
    return {
      'to server': conditionsOf(this.#faults, 'to server'),
      'to client': conditionsOf(this.#faults, 'to client'),
    };
  }

  #note(what: string): void {
    this.log.add(`${this.name}: ${what}`);
  }
}
