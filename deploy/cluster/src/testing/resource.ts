/** What the tests look at in resources of Kubernetes. */
export interface Resource {
  kind: string;
  metadata: { name: string };
  spec: {
    template?: { spec: { containers: Container[] } };
    ports?: { name: string; port: number; targetPort: string }[];
    ingress?: PolicyRule[];
    egress?: PolicyRule[];
    policyTypes?: string[];
    endpoints?: { port: string }[];
  };
}

export interface Container {
  env: Variable[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  securityContext: unknown;
  resources: unknown;
}

export interface PolicyRule {
  ports: { port: string | number }[];
  from?: Peer[];
  to?: Peer[];
}

interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef: { name: string; key: string; optional?: boolean } };
}

interface Probe {
  httpGet: { path: string; port: string };
}

interface Peer {
  podSelector?: { matchLabels: Record<string, string> };
}
