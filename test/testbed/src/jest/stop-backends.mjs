export default async function stopBackends() {
  await globalThis.stopTestPostgres?.();
}
