{{- /*
Allows only the connections that a component needs. Takes "root", "name", "component" (its row), "values", and, optional: "callers" (map of
components to the ports that they call), "admitsIngress" (whether the ingress may call it), "annotations".
*/ -}}
{{- define "knowledge-repository.networkPolicy" -}}
{{- $root := .root }}
{{- $policy := .values.networkPolicy }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "knowledge-repository.fullname" . }}
  labels: {{- include "knowledge-repository.labels" . | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- . | nindent 4 }}
  {{- end }}
spec:
  podSelector:
    matchLabels: {{- include "knowledge-repository.selectorLabels" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    {{- range $caller, $ports := .callers }}
    - from: [{ podSelector: { matchLabels: {{ include "knowledge-repository.selectorLabels" (dict "root" $root "name" $caller) | fromYaml | toJson }} } }]
      ports: {{- include "knowledge-repository.policyPorts" $ports | trim | nindent 8 }}
    {{- end }}
    {{- if .admitsIngress }}
    {{- include "knowledge-repository.policyRule" (list "from" "http" $policy.ingressPeers) | nindent 4 }}
    {{- end }}
    {{- if and .callers $root.Values.metrics.enabled }}
    {{- include "knowledge-repository.policyRule" (list "from" "metrics" $policy.metricsPeers) | nindent 4 }}
    {{- end }}
  egress:
    - ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }]
    {{- range $callee, $ports := .component.calls }}
    - to: [{ podSelector: { matchLabels: {{ include "knowledge-repository.selectorLabels" (dict "root" $root "name" $callee) | fromYaml | toJson }} } }]
      ports: {{- include "knowledge-repository.policyPorts" $ports | trim | nindent 8 }}
    {{- end }}
    {{- range $server := .component.servers }}
    {{- $to := index $policy $server }}
    {{- $peers := $to.peers }}
    {{- if and $root.Values.dev.enabled (has $server (list "postgres" "nats")) }}
    {{- $peers = list (dict "podSelector" (dict "matchLabels" (include "knowledge-repository.selectorLabels" (dict "root" $root "name" $server) | fromYaml))) }}
    {{- end }}
    {{- include "knowledge-repository.policyRule" (list "to" $to.port $peers) | nindent 4 }}
    {{- end }}
    {{- with concat $policy.extraEgress (default list .values.extraEgress) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "knowledge-repository.policyPorts" -}}
{{- range . }}
- { port: {{ . }}, protocol: TCP }
{{- end }}
{{- end }}

{{- /* Takes (list SIDE PORT PEERS). Without peers the rule is about the port alone. */ -}}
{{- define "knowledge-repository.policyRule" -}}
- ports: [{ port: {{ index . 1 }}, protocol: TCP }]
  {{- with index . 2 }}
  {{ index $ 0 }}: {{ toJson . }}
  {{- end }}
{{- end }}
