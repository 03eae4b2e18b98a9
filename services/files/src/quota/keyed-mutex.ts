/** Runs the tasks of one key one after the other, in the order of their calls. */
export type KeyedMutex = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>;

/** Within this process: tasks wait here, instead of each with a connection for the same database lock. */
export function keyedMutex(): KeyedMutex {
  const latest = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const done = (latest.get(key) ?? Promise.resolve()).then(work);
    // The next task waits for the end of this one, successful or not.
    const ended = done.then(forget, forget);
    latest.set(key, ended);
    return done;

    function forget(): void {
      if (latest.get(key) === ended) latest.delete(key);
    }
  };
}
