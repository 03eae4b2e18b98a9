import { freePorts } from '../backends/free-port.ts';
import { eachService, SERVICES, type ServiceName } from './service-names.ts';

export interface ServicePorts {
  grpc: number;
  health: number;
}

/** Where one process of each service listens. */
export interface ProcessPorts {
  http: number;
  content: number;
  services: Record<ServiceName, ServicePorts>;
}

export interface StackPorts extends ProcessPorts {
  web: { http: number; health: number };
  postgres: number;
  nats: number;
  /** Of a second process of each service, where there is one. */
  replicas: ProcessPorts | undefined;
}

const PORTS_OF_A_SET = 2 + 2 * SERVICES.length;

/** Chooses the ports of one run; a restarted part gets the port it had. */
export async function choosePorts(
  httpPort: number,
  { isReplicated }: { isReplicated: boolean },
): Promise<StackPorts> {
  const ports = await freePorts(4 + (isReplicated ? 2 : 1) * PORTS_OF_A_SET);
  const take = (): number => ports.shift() ?? 0;
  const takeSet = (): ProcessPorts => ({
    http: take(),
    content: take(),
    services: eachService(() => ({ grpc: take(), health: take() })),
  });
  const first = takeSet();
  return {
    ...first,
    http: httpPort === 0 ? first.http : httpPort,
    web: { http: take(), health: take() },
    postgres: take(),
    nats: take(),
    replicas: isReplicated ? takeSet() : undefined,
  };
}
