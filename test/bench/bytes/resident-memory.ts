import { readFileSync } from 'node:fs';

/** By how many bytes the resident memory of each process was greater, at most, than when it began. */
export async function growthDuring(
  pids: Readonly<Record<string, number>>,
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = new Map(Object.entries(pids).map(([name, pid]) => [name, residentBytes(pid)]));
  const most = new Map(before);
  const look = () => {
    for (const [name, pid] of Object.entries(pids))
      most.set(name, Math.max(most.get(name) ?? 0, residentBytes(pid)));
  };
  const timer = setInterval(look, 100);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  look();
  return Object.fromEntries([...most].map(([name, bytes]) => [name, bytes - (before.get(name) ?? 0)]));
}

function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) * 1_024;
}
