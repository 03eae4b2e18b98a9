import type { Chance } from './chance.ts';

/** Frequency of each fault: once in n times, 0 = never. */
export interface Faults {
  areOn: boolean;
  readonly stepsPerCrash: number;
  readonly stepsPerPause: number;
  /** Of the steps in a transaction: the connection to the database breaks. */
  readonly stepsPerBrokenConnection: number;
  /** Of the answers to COMMIT: lost when the transaction is stored. */
  readonly commitsPerLostReply: number;
  readonly messagesPerLoss: number;
  readonly messagesPerRepeat: number;
  /** Of the messages: one that takes up to 5 s instead of up to 20 ms. */
  readonly messagesPerDelay: number;
  /** Milliseconds between partitions of two services, on average. */
  readonly msPerPartition: number;
}

/** Only delayed messages, and all clients at the same time. */
export function withoutFaults(): Faults {
  return {
    areOn: true,
    stepsPerCrash: 0,
    stepsPerPause: 0,
    stepsPerBrokenConnection: 0,
    commitsPerLostReply: 0,
    messagesPerLoss: 0,
    messagesPerRepeat: 0,
    messagesPerDelay: 10,
    msPerPartition: 0,
  };
}

/** All faults at once, each history with its own mixture. */
export function someFaults(chance: Chance): Faults {
  return {
    areOn: true,
    stepsPerCrash: chance.oneOf([60, 120, 300]),
    stepsPerPause: chance.oneOf([60, 200, 800]),
    stepsPerBrokenConnection: chance.oneOf([100, 400]),
    commitsPerLostReply: chance.oneOf([15, 60]),
    messagesPerLoss: chance.oneOf([8, 16, 40]),
    messagesPerRepeat: chance.oneOf([8, 20]),
    messagesPerDelay: chance.oneOf([4, 10]),
    msPerPartition: chance.oneOf([8_000, 20_000]),
  };
}
