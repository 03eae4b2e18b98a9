{{- /* All of these take (dict "root" $ "name" COMPONENT). */ -}}

{{- define "knowledge-repository.fullname" -}}
{{ printf "%s-%s" (include "knowledge-repository.prefix" .root) .name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* Names of all resources begin with it. Argument: the root. */ -}}
{{- define "knowledge-repository.prefix" -}}
{{ default .Release.Name .Values.fullnameOverride }}
{{- end }}

{{- define "knowledge-repository.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .name }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- /* Without "name": the labels of the whole release. */ -}}
{{- define "knowledge-repository.labels" -}}
{{- with .root.Values.commonLabels }}
{{- toYaml . }}
{{ end }}
{{- include "knowledge-repository.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- /* RECORDS of records, ACCESS_LINKS of access-links. */ -}}
{{- define "knowledge-repository.variablePrefix" -}}
{{ . | upper | replace "-" "_" }}
{{- end }}

{{- /*
The values of one service, as YAML: those under services.SERVICE replace the general ones of the same name; maps such as `env` are
merged. `mergeOverwrite` is not used because it ignores `false` and empty lists.
*/ -}}
{{- define "knowledge-repository.valuesOf" -}}
{{- $merged := deepCopy (omit .root.Values "services") }}
{{- range $key, $own := default (dict) (index .root.Values.services .name) }}
{{- $general := get $merged $key }}
{{- if and (kindIs "map" $own) (kindIs "map" $general) }}
{{- range $name, $value := $own }}{{ $_ := set $general $name $value }}{{ end }}
{{- else }}
{{- $_ := set $merged $key $own }}
{{- end }}
{{- end }}
{{- toYaml $merged }}
{{- end }}
