import { ServiceError } from '@kr/service-error';
import type { Chance } from './chance.ts';
import type { Faults } from './faults.ts';
import type { ServiceName, SimulatedProcess } from './simulated-process.ts';
import type { Trace } from './trace.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A process that answers calls, with the handlers it answers them by. */
export interface Server<Handlers> {
  readonly process: SimulatedProcess;
  readonly handlers: Handlers;
}

export interface Call<Handlers, Reply> {
  readonly from: SimulatedProcess;
  readonly to: { readonly service: ServiceName; readonly servers: () => readonly Server<Handlers>[] };
  readonly name: string;
  readonly timeoutMs?: number | undefined;
  handle(handlers: Handlers): Promise<Reply>;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const USUAL_MS = 20;
const DELAYED_MS = 5_000;
const REPEATED_WITHIN_MS = 6_000;

/** Calls between processes: slow, overtaken, lost on either way, delivered twice, cut off for a while. */
export class Network {
  private readonly time: VirtualTime;
  private readonly chance: Chance;
  private readonly faults: Faults;
  private readonly trace: Trace;
  private readonly cutUntil = new Map<string, number>();

  constructor(deps: { time: VirtualTime; chance: Chance; faults: Faults; trace: Trace }) {
    this.time = deps.time;
    this.chance = deps.chance;
    this.faults = deps.faults;
    this.trace = deps.trace;
  }

  /** Nothing passes between two services for a while. */
  cut(a: ServiceName, b: ServiceName, ms: number): void {
    this.trace.count('partitions');
    this.trace.note(() => `${a} and ${b} cannot reach each other for ${ms} ms`);
    this.cutUntil.set(linkOf(a, b), this.time.now() + ms);
  }

  heal(): void {
    this.cutUntil.clear();
  }

  /** @throws ServiceError of the handler; `unavailable` without an answer */
  call<Handlers, Reply>(call: Call<Handlers, Reply>): Promise<Reply> {
    const { from, name } = call;
    return new Promise<Reply>((resolve, reject) => {
      let isOver = false;
      const end = (how: () => void): void => {
        if (isOver) return;
        isOver = true;
        from.receive(how);
      };
      const deliver = (): void => {
        const server = this.chance.oneOf(call.to.servers());
        if (!server.process.isAlive) {
          this.travel(call, () => end(() => reject(new ServiceError('unavailable', `${name}: refused`))));
          return;
        }
        server.process.receive(() => {
          this.trace.note(() => `${from.name} -> ${server.process.name} ${name}`);
          call.handle(server.handlers).then(
            (reply) => server.process.isAlive && this.travel(call, () => end(() => resolve(reply))),
            (error: unknown) =>
              server.process.isAlive && this.travel(call, () => end(() => reject(ServiceError.from(error)))),
          );
        });
      };
      this.time.after(call.timeoutMs ?? DEFAULT_TIMEOUT_MS, () =>
        end(() => reject(new ServiceError('unavailable', `${name}: no answer in time`))),
      );
      this.travel(call, deliver);
      if (this.faults.areOn && this.chance.onceIn(this.faults.messagesPerRepeat)) {
        this.trace.count('messages repeated');
        this.time.after(this.chance.below(REPEATED_WITHIN_MS), () => this.travel(call, deliver));
      }
    });
  }

  private travel(
    { from, to, name }: Pick<Call<never, never>, 'from' | 'name'> & { to: { service: ServiceName } },
    arrive: () => void,
  ): void {
    const { chance, faults, trace } = this;
    trace.count('messages');
    if (faults.areOn && chance.onceIn(faults.messagesPerLoss)) {
      trace.count('messages lost');
      trace.note(() => `lost: ${name} of ${from.name}`);
      return;
    }
    const isLate = faults.areOn && chance.onceIn(faults.messagesPerDelay);
    if (isLate) trace.count('messages delayed');
    this.time.after(1 + chance.below(isLate ? DELAYED_MS : USUAL_MS), () => {
      if ((this.cutUntil.get(linkOf(from.service, to.service)) ?? 0) > this.time.now()) {
        trace.count('messages cut off');
        return;
      }
      arrive();
    });
  }
}

function linkOf(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}
