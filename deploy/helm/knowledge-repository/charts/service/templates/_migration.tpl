{{- /*
Brings the database of a service up to date before its first pod of a release starts, and ends. Takes (dict "root" $ "name"
SERVICE "egress" (list RULES)).
*/ -}}
{{- define "service.migration" -}}
{{- $values := .root.Values }}
{{- $own := index $values.services .name }}
{{- $it := dict "root" .root "name" (printf "%s-migration" .name) }}
{{- if $values.networkPolicy.enabled }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "service.fullname" $it }}
  labels: {{- include "service.labels" $it | nindent 4 }}
  annotations: {{- include "service.beforeRelease" "-1" | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "service.selector" $it | nindent 6 }}
  policyTypes: [Ingress, Egress]
  egress:
    - ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }]
    {{- toYaml .egress | nindent 4 }}
---
{{- end }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "service.fullname" $it }}
  labels: {{- include "service.labels" $it | nindent 4 }}
  annotations: {{- include "service.beforeRelease" "0" | nindent 4 }}
spec:
  backoffLimit: 2
  activeDeadlineSeconds: {{ $values.startupSeconds }}
  template:
    metadata:
      labels: {{- include "service.podLabels" $it | nindent 8 }}
    spec:
      restartPolicy: Never
      {{- with $own.serviceAccount }}
      serviceAccountName: {{ . }}
      {{- end }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext: {{- include "service.security" . | nindent 8 }}
      {{- include "service.placement" . | nindent 6 }}
      containers:
        - name: migration
          image: {{ include "service.image" . | quote }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          args: [src/migrate.ts]
          securityContext: {{- include "service.containerSecurity" . | nindent 12 }}
          env:
            {{- with include "service.plainEnv" (dict "root" .root "name" .name "env" (dict)) }}
            {{- . | nindent 12 }}
            {{- end }}
            - name: DATABASE_URL
              valueFrom: { secretKeyRef: { name: {{ printf "%s-%s" $values.existingSecretPrefix .name }}, key: DATABASE_URL } }
          {{- with $values.extraEnvFrom }}
          envFrom: {{- toYaml . | nindent 12 }}
          {{- end }}
          resources: {{- toYaml $own.resources | nindent 12 }}
          {{- with $values.extraVolumeMounts }}
          volumeMounts: {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with $values.extraVolumes }}
      volumes: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{- /* Argument: the weight as a string; lower weights run first. */ -}}
{{- define "service.beforeRelease" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
# Failed Jobs stay, with their log.
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
