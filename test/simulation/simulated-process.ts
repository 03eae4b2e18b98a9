import type { Chance } from './chance.ts';
import type { Faults } from './faults.ts';
import type { Trace } from './trace.ts';
import type { VirtualTime } from './virtual-time.ts';

export type ServiceName = 'packages' | 'records' | 'files';

export interface ProcessDeps {
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly faults: Faults;
  readonly trace: Trace;
}

const NEVER = new Promise<never>(() => undefined);

/**
 * One process of a service. Everything it awaits passes through here, so that it can die or pause between any two steps. A
 * dead process never continues.
 */
export class SimulatedProcess {
  readonly service: ServiceName | 'clients';
  readonly name: string;
  private readonly deps: ProcessDeps;
  private readonly ends: (() => void)[] = [];
  private isDead = false;
  private standsUntil = 0;

  constructor(deps: ProcessDeps, service: ServiceName | 'clients', name: string) {
    this.deps = deps;
    this.service = service;
    this.name = name;
  }

  get isAlive(): boolean {
    return !this.isDead;
  }

  /** Called once, when the process dies. */
  onEnd(end: () => void): void {
    this.ends.push(end);
  }

  /** One step of the program: mostly at once, now and then later, rarely never. */
  step(): Promise<void> | void {
    const { chance, faults, time } = this.deps;
    if (this.isDead) return NEVER;
    if (faults.areOn) {
      if (chance.onceIn(faults.stepsPerCrash)) {
        this.crash();
        return NEVER;
      }
      if (chance.onceIn(faults.stepsPerPause)) this.standStill(2_000 + chance.below(12_000));
    }
    if (this.standsUntil > time.now() || chance.onceIn(4)) return this.sleep(1 + chance.below(4));
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => this.wakeAfter(ms, wake));
  }

  /** Continues with input from outside when the process runs. */
  receive(wake: () => void): void {
    if (this.isDead) return;
    const waitMs = this.standsUntil - this.deps.time.now();
    if (waitMs > 0) this.wakeAfter(waitMs, wake);
    else wake();
  }

  crash(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.deps.trace.count('crashes');
    this.deps.trace.note(() => `${this.name} dies`);
    for (const end of this.ends) end();
  }

  /** As a garbage collection or a frozen machine does: the clock goes on, the process does not. */
  standStill(ms: number): void {
    const { time, trace } = this.deps;
    trace.count('pauses');
    trace.note(() => `${this.name} pauses for ${ms} ms`);
    this.standsUntil = Math.max(this.standsUntil, time.now() + ms);
  }

  get isStandingStill(): boolean {
    return this.standsUntil > this.deps.time.now();
  }

  private wakeAfter(ms: number, wake: () => void): void {
    this.deps.time.after(ms, () => this.receive(wake));
  }
}
