{{- /*
The template of every pod of the project's image. Takes "root", "name", "values" (of the service), "args", and, all optional: "container"
(name), "env" (map), "secret" (name), "secrets" and "optionalSecrets" (lists of its keys), "ports" (map), "volumes", "mounts", "labels",
"restartPolicy".
*/ -}}
{{- define "knowledge-repository.pod" -}}
{{- $values := .values }}
metadata:
  labels:
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- include "knowledge-repository.labels" . | nindent 4 }}
  {{- $checksums := include "knowledge-repository.checksums" . | fromYaml }}
  {{- with merge $checksums $values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .restartPolicy }}
  restartPolicy: {{ . }}
  {{- end }}
  {{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" "serviceAccountName" }}
  {{- with index $values $field }}
  {{ $field }}: {{ toJson . }}
  {{- end }}
  {{- end }}
  {{- with $values.image.pullSecrets }}
  imagePullSecrets: {{ toJson . }}
  {{- end }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  {{- if not .restartPolicy }}
  terminationGracePeriodSeconds: 30
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "knowledge-repository.selectorLabels" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  containers:
    - name: {{ default .name .container }}
      image: {{ include "knowledge-repository.image" . | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson .args }}
      securityContext: {{- include "knowledge-repository.containerSecurity" . | nindent 8 }}
      env:
        {{- range $name, $value := merge (dict) $values.env (default dict .env) (include "knowledge-repository.caEnv" $values | fromYaml) }}
        {{- /* Numbers of a values file are floating, and as text 1000000 would be 1e+06. */}}
        {{- $isWhole := and (kindIs "float64" $value) (eq $value (floor $value)) }}
        - { name: {{ $name }}, value: {{ ternary (int64 $value) $value $isWhole | toString | quote }} }
        {{- end }}
        {{- range .secrets }}
        - { name: {{ . }}, valueFrom: { secretKeyRef: { name: {{ $.secret }}, key: {{ . }} } } }
        {{- end }}
        {{- range .optionalSecrets }}
        - { name: {{ . }}, valueFrom: { secretKeyRef: { name: {{ $.secret }}, key: {{ . }}, optional: true } } }
        {{- end }}
        {{- with $values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $values.extraEnvFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .ports }}
      ports:
        {{- range $name, $port := . }}
        - { name: {{ $name }}, containerPort: {{ $port }} }
        {{- end }}
      startupProbe:
        httpGet: { path: /livez, port: health }
        periodSeconds: 5
        failureThreshold: {{ div $values.startupSeconds 5 }}
      livenessProbe:
        httpGet: { path: /livez, port: health }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: health }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        # Wait until clients have removed the pod's address.
        preStop: { sleep: { seconds: 5 } }
      {{- end }}
      resources: {{- toYaml $values.resources | nindent 8 }}
      {{- $ca := include "knowledge-repository.caVolume" $values | fromYaml }}
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- with $ca }}
        - { name: ca-bundle, mountPath: /etc/ca-bundle, readOnly: true }
        {{- end }}
        {{- with concat (default list .mounts) $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { sizeLimit: 64Mi }
    {{- with $ca }}
    - {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with concat (default list .volumes) $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "knowledge-repository.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "knowledge-repository.image" -}}
{{- with .values.image }}
{{- .registry }}/{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ default $.root.Chart.AppVersion .tag }}{{ end }}
{{- end }}
{{- end }}

{{- /* The volume of `caBundle`, or nothing. Argument: the values. */ -}}
{{- define "knowledge-repository.caVolume" -}}
{{- with .caBundle.existingConfigMap }}
name: ca-bundle
configMap: { name: {{ . }} }
{{- end }}
{{- with .caBundle.existingSecret }}
name: ca-bundle
secret: { secretName: {{ . }}, items: [{ key: {{ $.caBundle.key }}, path: {{ $.caBundle.key }} }] }
{{- end }}
{{- end }}

{{- define "knowledge-repository.caEnv" -}}
{{- if or .caBundle.existingConfigMap .caBundle.existingSecret }}
NODE_EXTRA_CA_CERTS: /etc/ca-bundle/{{ .caBundle.key }}
{{- end }}
{{- end }}

{{- /*
Annotations that change with the content of the Secrets and ConfigMaps that a pod reads, so that `helm upgrade` replaces its pods. Without
access to the cluster, as in `helm template`, there are none.
*/ -}}
{{- define "knowledge-repository.checksums" -}}
{{- $bundle := .values.caBundle }}
{{- $sources := dict
  "secret" (list "Secret" .secret)
  "vocabularies" (list "ConfigMap" (ternary .values.vocabulariesConfigMap "" (hasKey (default dict .env) "VOCABULARY_DIR")))
  "ca-bundle" (ternary (list "Secret" $bundle.existingSecret) (list "ConfigMap" $bundle.existingConfigMap) (ne $bundle.existingSecret "")) }}
{{- range $name, $source := $sources }}
{{- with last $source }}
{{- with lookup "v1" (first $source) $.root.Release.Namespace . }}
checksum/{{ $name }}: {{ toJson .data | sha256sum }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
