{{- /*
Brings the database of a service up to date before its first pod of a release starts, and ends. Takes "root", "name", "values",
"secret".
*/ -}}
{{- define "knowledge-repository.migration" -}}
{{- $it := merge (dict "name" (printf "%s-migration" .name) "component" (dict "servers" (list "postgres"))) . }}
{{- if .values.networkPolicy.enabled }}
{{ include "knowledge-repository.networkPolicy" (merge (dict "annotations" (include "knowledge-repository.hook" (list "pre-install,pre-upgrade" "-1"))) $it) }}
---
{{- end }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "knowledge-repository.fullname" $it }}
  labels: {{- include "knowledge-repository.labels" $it | nindent 4 }}
  annotations: {{- include "knowledge-repository.hook" (list "pre-install,pre-upgrade" "0") | nindent 4 }}
spec:
  backoffLimit: 2
  activeDeadlineSeconds: {{ int .values.startupSeconds }}
  template: {{- include "knowledge-repository.pod" (merge (dict
    "container" "migration" "args" (list .name "migrate") "secrets" (list "DATABASE_URL") "restartPolicy" "Never") $it) | nindent 4 }}
{{- end }}

{{- /* Takes (list HOOKS WEIGHT), both strings; lower weights run first. */ -}}
{{- define "knowledge-repository.hook" -}}
helm.sh/hook: {{ first . }}
helm.sh/hook-weight: {{ last . | quote }}
# Failed Jobs stay, with their log.
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
