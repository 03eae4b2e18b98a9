import { FAILPOINTS, type Failpoint } from './failpoints.ts';

export type InjectedFault = { do: 'kill' } | { do: 'pause'; ms: number } | { do: 'error' };

export interface Order {
  failpoint: Failpoint;
  failure: InjectedFault;
  /** Only the hit of this number fails, counted from 1; without it every one. */
  nth?: number;
}

const ORDER = /^(?<name>[^:]*):(?:(?<plain>kill|error)|pause:(?<ms>\d{1,7}))(?:@(?<nth>[1-9]\d{0,5}))?$/;

/**
 * Reads `<name>:kill|error|pause:<ms>[@<nth>][,…]`; an empty text is no order.
 *
 * @throws Error that quotes the malformed order; for an unknown name it lists all names
 */
export function readOrders(text: string): Order[] {
  return text === '' ? [] : text.split(',').map((part) => readOrder(part.trim()));
}

function readOrder(text: string): Order {
  const groups = ORDER.exec(text)?.groups;
  if (groups === undefined) {
    throw new Error(
      `FAILPOINT: "${text}" is not <name>:kill, <name>:error or <name>:pause:<ms>, with or without @<nth>`,
    );
  }
  const { name, plain, ms, nth } = groups;
  const failpoint = FAILPOINTS.find((one) => one === name);
  if (failpoint === undefined) {
    throw new Error(
      `FAILPOINT: there is no "${name}", only\n${FAILPOINTS.map((one) => `  ${one}`).join('\n')}`,
    );
  }
  const failure: InjectedFault =
    plain === 'kill' || plain === 'error' ? { do: plain } : { do: 'pause', ms: Number(ms) };
  return { failpoint, failure, ...(nth === undefined ? {} : { nth: Number(nth) }) };
}
