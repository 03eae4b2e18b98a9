import type { Sql, SqlDatabase } from '@kr/database';
import type { Chance } from './chance.ts';
import type { Faults } from './faults.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Trace } from './trace.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Rows by their key. A row is never changed but replaced, so that what was read stays as it was. */
export class Table<Row> {
  readonly rows = new Map<string, Row>();
  readonly name: string;
  /** Called for every row that a commit changed, with the process that committed. */
  changed: ((before: Row | undefined, after: Row | undefined, by: SimulatedProcess) => void) | undefined;

  constructor(name: string) {
    this.name = name;
  }
}

interface Lock {
  owner: MemoryTx;
  readonly waiting: {
    readonly tx: MemoryTx;
    readonly grant: () => void;
    readonly refuse: (why: Error) => void;
  }[];
}

export interface MemoryDatabaseDeps {
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly faults: Faults;
  readonly trace: Trace;
}

/** As the services configure it, in milliseconds. */
const LOCK_TIMEOUT_MS = 3_000;
const IDLE_IN_TRANSACTION_MS = 10_000;

/** The state of a service that survives its processes: tables, and the locks of open transactions. */
export class MemoryDatabase {
  readonly deps: MemoryDatabaseDeps;
  readonly locks = new Map<string, Lock>();

  constructor(deps: MemoryDatabaseDeps) {
    this.deps = deps;
  }

  connect(process: SimulatedProcess): MemoryConnection {
    return new MemoryConnection(this, process);
  }

  tryLock(tx: MemoryTx, key: string): boolean {
    const lock = this.locks.get(key);
    if (lock !== undefined) return lock.owner === tx;
    this.locks.set(key, { owner: tx, waiting: [] });
    tx.held.push(key);
    return true;
  }

  /** @throws Error when the lock is not free in time */
  async lock(tx: MemoryTx, key: string): Promise<void> {
    const { time, trace } = this.deps;
    const lock = this.locks.get(key);
    if (lock === undefined || lock.owner === tx) return void this.tryLock(tx, key);
    trace.count('lock waits');
    await new Promise<void>((grant, refuse) => {
      const waiter = { tx, grant, refuse };
      lock.waiting.push(waiter);
      time.after(tx.lockTimeoutMs, () => {
        const at = lock.waiting.indexOf(waiter);
        if (at < 0) return;
        lock.waiting.splice(at, 1);
        trace.count('lock time-outs');
        refuse(new Error(`canceling statement due to lock timeout: ${key}`));
      });
    });
  }

  unlock(tx: MemoryTx): void {
    for (const key of tx.held.splice(0)) {
      const lock = this.locks.get(key);
      const next = lock?.waiting.shift();
      if (lock === undefined || next === undefined) {
        this.locks.delete(key);
        continue;
      }
      lock.owner = next.tx;
      next.tx.held.push(key);
      next.grant();
    }
  }

  forgetWaiting(tx: MemoryTx): void {
    for (const lock of this.locks.values()) {
      const at = lock.waiting.findIndex((one) => one.tx === tx);
      if (at >= 0) lock.waiting.splice(at, 1);
    }
  }
}

/** One process's way to a database. A statement by itself sees and writes what is committed. */
export class MemoryConnection implements SqlDatabase {
  readonly database: MemoryDatabase;
  readonly process: SimulatedProcess;
  private readonly open = new Set<MemoryTx>();

  constructor(database: MemoryDatabase, process: SimulatedProcess) {
    this.database = database;
    this.process = process;
    process.onEnd(() => this.endAll());
  }

  async step(): Promise<void> {
    await this.process.step();
    const { chance, faults, trace } = this.database.deps;
    if (faults.areOn && chance.onceIn(faults.stepsPerBrokenConnection)) {
      trace.count('broken connections');
      throw new Error('the connection to the database is lost');
    }
  }

  get<Row>(table: Table<Row>, key: string): Row | undefined {
    return table.rows.get(key);
  }

  all<Row>(table: Table<Row>): Iterable<Row> {
    return table.rows.values();
  }

  async $transaction<Result>(run: (tx: MemoryTx) => Promise<Result>): Promise<Result> {
    const { chance, faults, trace } = this.database.deps;
    await this.step();
    const tx = new MemoryTx(this);
    this.open.add(tx);
    this.watchIdleness(tx);
    let result: Result;
    try {
      result = await run(tx);
      await tx.step();
    } catch (error) {
      this.end(tx);
      throw error;
    }
    tx.commit();
    this.end(tx);
    await this.process.step();
    if (faults.areOn && chance.onceIn(faults.commitsPerLostReply)) {
      trace.count('commits whose reply was lost');
      throw new Error('the connection was lost while committing');
    }
    return result;
  }

  /** Statements that are no operation of a port have no twin here. */
  async $queryRawUnsafe<Rows>(sql: string): Promise<Rows> {
    throw new Error(`no twin of ${sql}`);
  }

  async $executeRawUnsafe(sql: string): Promise<number> {
    throw new Error(`no twin of ${sql}`);
  }

  /** The server ends the transaction of a paused process, so that others do not wait for ever. */
  private watchIdleness(tx: MemoryTx): void {
    const { time, trace } = this.database.deps;
    time.after(IDLE_IN_TRANSACTION_MS, () => {
      if (!this.open.has(tx) || !this.process.isStandingStill) return;
      trace.count('transactions ended by the server');
      this.end(tx);
    });
  }

  private end(tx: MemoryTx): void {
    this.open.delete(tx);
    tx.close();
  }

  private endAll(): void {
    for (const tx of this.open) tx.close();
    this.open.clear();
  }
}

/** Its writes are its own until it commits; its locks are its own until it ends. */
export class MemoryTx implements Sql {
  readonly held: string[] = [];
  lockTimeoutMs = LOCK_TIMEOUT_MS;
  private readonly connection: MemoryConnection;
  private readonly writes = new Map<Table<unknown>, Map<string, unknown>>();
  private isOver = false;

  constructor(connection: MemoryConnection) {
    this.connection = connection;
  }

  async step(): Promise<void> {
    await this.connection.step();
    if (this.isOver) throw new Error('terminating connection due to idle-in-transaction timeout');
  }

  async lock(key: string): Promise<void> {
    await this.connection.database.lock(this, key);
    if (this.isOver) throw new Error('terminating connection due to idle-in-transaction timeout');
  }

  /** False, and nothing waited for, when another transaction holds it. */
  tryLock(key: string): boolean {
    return this.connection.database.tryLock(this, key);
  }

  get<Row>(table: Table<Row>, key: string): Row | undefined {
    const own = this.writes.get(table as Table<unknown>);
    return own?.has(key) ? (own.get(key) as Row | undefined) : table.rows.get(key);
  }

  *all<Row>(table: Table<Row>): Iterable<Row> {
    const own = this.writes.get(table as Table<unknown>);
    for (const [key, row] of table.rows) if (own?.has(key) !== true) yield row;
    for (const row of own?.values() ?? []) if (row !== undefined) yield row as Row;
  }

  set<Row>(table: Table<Row>, key: string, row: Row | undefined): void {
    const own = this.writes.get(table as Table<unknown>) ?? new Map<string, unknown>();
    own.set(key, row);
    this.writes.set(table as Table<unknown>, own);
  }

  commit(): void {
    if (this.isOver) throw new Error('the transaction is over');
    for (const [table, own] of this.writes) {
      for (const [key, row] of own) {
        const before = table.rows.get(key);
        if (row === undefined) table.rows.delete(key);
        else table.rows.set(key, row);
        table.changed?.(before, row, this.connection.process);
      }
    }
  }

  close(): void {
    this.isOver = true;
    this.connection.database.forgetWaiting(this);
    this.connection.database.unlock(this);
  }

  $queryRawUnsafe<Rows>(sql: string): Promise<Rows> {
    return this.connection.$queryRawUnsafe(sql);
  }

  $executeRawUnsafe(sql: string): Promise<number> {
    return this.connection.$executeRawUnsafe(sql);
  }
}

/** Reads alike inside and outside of a transaction. */
export type Reader = Pick<MemoryTx, 'get' | 'all' | 'step'>;
