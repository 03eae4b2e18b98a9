export default async function stopBackends() {
  globalThis.preparedS3?.kill('SIGTERM');
  await globalThis.stopTestPostgres?.();
}
