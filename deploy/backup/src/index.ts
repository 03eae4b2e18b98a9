export type { BackupSystem, Progress } from './backup-system.ts';
export { makeBackup } from './make-backup.ts';
export type { Manifest } from './manifest.ts';
export { restoreSecrets } from './operators-files.ts';
export { restoreBackup } from './restore-backup.ts';
export { SCHEMAS } from './schemas.ts';
export { verifyBackup } from './verify-backup.ts';
