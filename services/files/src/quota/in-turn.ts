/** Does work of one key one after the other, in the order in which it is asked for. */
export type InTurn = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>;

/** Within this process: so many wait here, and not each with a connection for the same lock of the database. */
export function inTurn(): InTurn {
  const latest = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const done = (latest.get(key) ?? Promise.resolve()).then(work);
    // Whoever comes next waits for the end of this, whatever it was.
    const ended = done.then(forget, forget);
    latest.set(key, ended);
    return done;

    function forget(): void {
      if (latest.get(key) === ended) latest.delete(key);
    }
  };
}
