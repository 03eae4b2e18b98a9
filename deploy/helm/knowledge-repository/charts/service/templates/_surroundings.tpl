{{- /*
A Service. Takes besides "servicePorts" (dict NAME PORT): "suffix" of its name, and whether it is "headless": callers know all pods
then, and take turns between them.
*/ -}}
{{- define "service.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "service.fullname" . }}{{ .suffix }}
  labels: {{- include "service.labels" . | nindent 4 }}
spec:
  {{- if .headless }}
  clusterIP: None
  {{- end }}
  selector: {{- include "service.selector" . | nindent 4 }}
  ports:
    {{- range $name, $port := .servicePorts }}
    - { name: {{ $name }}, port: {{ $port }}, targetPort: {{ $name }} }
    {{- end }}
{{- end }}

{{- define "service.disruption" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "service.fullname" . }}
  labels: {{- include "service.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "service.selector" . | nindent 6 }}
{{- end }}

{{- define "service.autoscaler" -}}
{{- $own := index .root.Values.services .name }}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "service.fullname" . }}
  labels: {{- include "service.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "service.fullname" . }}
  minReplicas: {{ $own.replicas }}
  maxReplicas: {{ $own.autoscaling.max }}
  {{- with $own.autoscaling.behavior }}
  behavior: {{- toYaml . | nindent 4 }}
  {{- end }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ $own.autoscaling.cpuPercent }} }
{{- end }}

{{- /*
Allows only the connections that the service needs. Further arguments: "callers" (list SERVICES by which its
gRPC port is called), "calls" (list SERVICES), "ingress" and "egress" (lists of further rules).
*/ -}}
{{- define "service.networkPolicy" -}}
{{- $root := .root }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "service.fullname" . }}
  labels: {{- include "service.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "service.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    {{- range .callers }}
    - from:
        - podSelector:
            matchLabels: {{- include "service.selector" (dict "root" $root "name" .) | nindent 14 }}
      ports: [{ port: grpc, protocol: TCP }]
    {{- end }}
    {{- with .ingress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  egress:
    - ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }]
    {{- range .calls }}
    - to:
        - podSelector:
            matchLabels: {{- include "service.selector" (dict "root" $root "name" .) | nindent 14 }}
      ports: [{ port: grpc, protocol: TCP }]
    {{- end }}
    {{- with .egress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
