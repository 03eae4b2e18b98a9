/** The fields of Kubernetes resources that the tests read. */
export interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string>; labels?: Record<string, string> };
  /** Of a ConfigMap. */
  data?: Record<string, string>;
  spec: {
    template?: PodTemplate;
    /** Of a CronJob. */
    jobTemplate?: { spec: { template: PodTemplate } };
    strategy?: { type: string };
    ports?: { name: string; port: number; targetPort: string }[];
    ingress?: PolicyRule[];
    egress?: PolicyRule[];
    policyTypes?: string[];
    podSelector?: { matchLabels: Record<string, string> };
    selector?: Record<string, string>;
    endpoints?: { port: string }[];
    /** Of an Ingress. */
    rules?: { http: { paths: { path: string; backend: { service: { name: string } } }[] } }[];
    groups?: unknown;
  };
}

export interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: { serviceAccountName?: string; containers: Container[] };
}

export interface Container {
  image: string;
  env?: Variable[];
  args: string[];
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
