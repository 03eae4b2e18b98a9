/** Exits with 0 when the service of this container is ready. */
const answer = await fetch(`http://127.0.0.1:${process.env.HEALTH_PORT}/readyz`, {
  signal: AbortSignal.timeout(4_000),
}).catch((error) => ({ ok: false, status: error.message }));
if (!answer.ok) process.stderr.write(`not ready: ${answer.status}\n`);
process.exitCode = answer.ok ? 0 : 1;
