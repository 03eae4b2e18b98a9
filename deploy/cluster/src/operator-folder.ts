import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Secrets, type ServiceName, writePrivateJson } from '@kr/local-stack';

/** Where an operator reaches the gRPC servers of these services, such as the near ends of forwarded ports. */
export type OperatorAddresses = Readonly<Record<'gateway' | 'packages' | 'files' | 'search', string>>;

/** Makes a folder by which `kr admin … --data-dir FOLDER` works on a deployed system. */
export async function writeOperatorFolder(
  folder: string,
  secrets: Secrets,
  { baseUrl, addresses }: { baseUrl: string; addresses: OperatorAddresses },
): Promise<void> {
  const door = (service: ServiceName & keyof OperatorAddresses) => ({
    address: addresses[service],
    key: secrets.callerKeys[service].operator,
  });
  await mkdir(folder, { recursive: true });
  await writePrivateJson(join(folder, 'runtime.json'), {
    base_url: baseUrl,
    identity: door('gateway'),
    publications: door('packages'),
    files: door('files'),
    search: door('search'),
  });
}
