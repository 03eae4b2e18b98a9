/** `node check-health.mjs [URL…]` exits with 0 if all URLs answer with 2xx, by default the readiness of the service in this container. */
const urls = process.argv.slice(2);
if (urls.length === 0) urls.push(`http://127.0.0.1:${process.env.HEALTH_PORT}/readyz`);
for (const url of urls) {
  const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(4_000) }).catch((error) => ({
    ok: false,
    status: error.message,
  }));
  if (ok) continue;
  process.stderr.write(`${url} is not ready: ${status}\n`);
  process.exitCode = 1;
}
