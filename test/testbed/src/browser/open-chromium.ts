import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 240_000;
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Path of a Chromium, installed with apt where that is possible, or the reason why there is none. */
export async function openChromium(): Promise<{ executablePath: string } | { missing: string }> {
  const found = PLACES.find(existsSync);
  if (found !== undefined) return { executablePath: found };
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    const options = {
      timeout: INSTALL_TIMEOUT_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    };
    await run('apt-get', ['update', '-qq'], options).catch(() => undefined);
    const packages = ['chromium', 'fonts-liberation'];
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], options).catch(
      () => undefined,
    );
  }
  const installed = PLACES.find(existsSync);
  return installed === undefined
    ? { missing: 'needs Chromium: apt-get install chromium' }
    : { executablePath: installed };
}
