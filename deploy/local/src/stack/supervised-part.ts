import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasEnded, stopProcess } from '../backends/attached-process.ts';
import { endOf, type Program, runProgram, type Variables } from '../backends/program.ts';

export interface SupervisionEvents {
  /** A process exists, ready or not. */
  onLaunch(part: string, pid: number): void;
  onProgress(sentence: string): void;
}

const FIRST_PAUSE_MS = 100;
/** Delay before a requested restart. */
const ASKED_PAUSE_MS = 5;
const MAX_PAUSE_MS = 10_000;
/** A part that lived this long before it ended starts again at once. */
const STEADY_MS = 30_000;

/** A supervised program: when it ends by itself it is restarted, after a growing pause. */
export class SupervisedPart {
  readonly name: string;
  readonly #program: Program;
  readonly #events: SupervisionEvents;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #restarting: Promise<void> = Promise.resolve();
  #pauseMs = FIRST_PAUSE_MS;
  /** One for each of the next processes. */
  #further: Variables[] = [];

  constructor(program: Program, events: SupervisionEvents) {
    this.name = program.name;
    this.#program = program;
    this.#events = events;
  }

  get pid(): number | undefined {
    return this.#child === undefined || hasEnded(this.#child) ? undefined : this.#child.pid;
  }

  /** Resolves when the program is ready. @throws Error that names the part and its log when it does not get there. */
  async start(): Promise<void> {
    this.#watch(await this.#run());
  }

  /** Sends a signal as somebody from outside would. */
  kill(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /**
   * Restarts the process at once with further variables in its environment; each later restart uses the next
   * element of the list, and in the end none.
   */
  async relaunch(...further: Variables[]): Promise<void> {
    await this.#restarting;
    const former = this.#child;
    if (former === undefined || hasEnded(former)) throw new Error(`${this.name} is down`);
    const ended = new Promise((resolve) => former.once('exit', resolve));
    // Without variables a process is started too, and its exit causes no delay.
    this.#further = further.length > 0 ? further : [{}];
    this.#pauseMs = FIRST_PAUSE_MS;
    former.kill('SIGKILL');
    await ended;
    await this.#restarting;
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    if (this.#child !== undefined) await stopProcess(this.#child, this.#program.stopSignal, graceMs);
    await this.#restarting;
  }

  #run(): Promise<ChildProcess> {
    const onLaunch = (child: ChildProcess): void => {
      this.#child = child;
      if (this.#stopping.signal.aborted) child.kill('SIGKILL');
      if (child.pid !== undefined) this.#events.onLaunch(this.name, child.pid);
    };
    return runProgram(this.#program, onLaunch, this.#further.shift());
  }

  #watch(child: ChildProcess): void {
    const since = Date.now();
    const again = (): void => {
      if (this.#stopping.signal.aborted) return;
      if (Date.now() - since > STEADY_MS) this.#pauseMs = FIRST_PAUSE_MS;
      this.#events.onProgress(
        `${this.name} ended (${endOf(child)}); starting it again. Its log: ${this.#program.logFile}`,
      );
      this.#restarting = this.#restart();
    };
    if (hasEnded(child)) again();
    else child.once('exit', again);
  }

  async #restart(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const isAsked = this.#further.length > 0;
      await sleep(isAsked ? ASKED_PAUSE_MS : this.#pauseMs, undefined, {
        signal: this.#stopping.signal,
      }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return;
      if (!isAsked) this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
      try {
        const child = await this.#run();
        this.#events.onProgress(`${this.name} is back`);
        this.#watch(child);
        return;
      } catch (thrown) {
        if (!this.#stopping.signal.aborted) this.#events.onProgress(String(thrown));
      }
    }
  }
}
