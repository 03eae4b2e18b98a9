{{- /* All of these take (dict "root" $ "name" SERVICE). */ -}}

{{- define "service.fullname" -}}
{{ printf "%s-%s" (include "service.prefixOfNames" .) .name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* Names of all resources begin with it. */ -}}
{{- define "service.prefixOfNames" -}}
{{ default .root.Release.Name .root.Values.fullnameOverride }}
{{- end }}

{{- define "service.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "service.labels" -}}
{{- with .root.Values.commonLabels }}
{{- toYaml . }}
{{ end }}
{{- include "service.selector" . }}
app.kubernetes.io/part-of: knowledge-repository
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "service.podLabels" -}}
{{- with .root.Values.podLabels }}
{{- toYaml . }}
{{ end }}
{{- include "service.labels" . }}
{{- end }}

{{- /* RECORDS of records, ACCESS_LINKS of access-links. */ -}}
{{- define "service.prefix" -}}
{{ .name | upper | replace "-" "_" }}
{{- end }}

{{- define "service.image" -}}
{{- $image := .root.Values.image }}
{{- with (index .root.Values.services .name).imageDigest }}
{{- printf "%s/%s@%s" $image.registry $.name . }}
{{- else }}
{{- printf "%s/%s:%s" $image.registry .name (default .root.Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{- /* Scheduling fields of pods. */ -}}
{{- define "service.placement" -}}
{{- $values := .root.Values }}
{{- with $values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "service.security" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "service.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
