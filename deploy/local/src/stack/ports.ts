import { freePorts } from '../backends/free-port.ts';
import { eachService, SERVICES, type ServiceName } from './service-names.ts';

export interface ServicePorts {
  grpc: number;
  health: number;
}

export interface StackPorts {
  postgres: number;
  nats: number;
  http: number;
  content: number;
  services: Record<ServiceName, ServicePorts>;
}

/** Chooses the ports of one run; a restarted part gets the port it had. */
export async function choosePorts(httpPort: number): Promise<StackPorts> {
  const ports = await freePorts(4 + 2 * SERVICES.length);
  const take = (): number => ports.shift() ?? 0;
  const http = take();
  return {
    http: httpPort === 0 ? http : httpPort,
    postgres: take(),
    nats: take(),
    content: take(),
    services: eachService(() => ({ grpc: take(), health: take() })),
  };
}
