{{- /*
A Deployment. Takes (dict "root" $ "name" SERVICE "calls" (list CALLEES) "secrets" (list VARIABLES) "optionalSecrets"
(list VARIABLES) "env" (dict VARIABLE VALUE) "ports" (dict NAME PORT) "volumes" (list VOLUMES) "mounts" (list MOUNTS) "replaceFirst" BOOLEAN).
*/ -}}
{{- define "service.deployment" -}}
{{- $values := .root.Values }}
{{- $own := index $values.services .name }}
{{- $secret := printf "%s-%s" $values.existingSecretPrefix .name }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "service.fullname" . }}
  labels: {{- include "service.labels" . | nindent 4 }}
spec:
  {{- if not $own.autoscaling.enabled }}
  replicas: {{ $own.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  selector:
    matchLabels: {{- include "service.selector" . | nindent 6 }}
  strategy:
    {{- if .replaceFirst }}
    # A ReadWriteOnce volume has to be released before the next pod can start on another node.
    type: Recreate
    {{- else }}
    {{- toYaml $values.strategy | nindent 4 }}
    {{- end }}
  template:
    metadata:
      labels: {{- include "service.podLabels" . | nindent 8 }}
      {{- with $own.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- with $own.serviceAccount }}
      serviceAccountName: {{ . }}
      {{- end }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext: {{- include "service.security" . | nindent 8 }}
      terminationGracePeriodSeconds: 30
      {{- include "service.placement" . | nindent 6 }}
      topologySpreadConstraints:
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "service.selector" $ | nindent 14 }}
        {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "service.image" . | quote }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          securityContext: {{- include "service.containerSecurity" . | nindent 12 }}
          env:
            {{- with include "service.plainEnv" . }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- range .secrets }}
            - name: {{ . }}
              valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }} } }
            {{- end }}
            {{- range .optionalSecrets }}
            - name: {{ . }}
              valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }}, optional: true } }
            {{- end }}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with $values.extraEnvFrom }}
          envFrom: {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            {{- range $name, $port := .ports }}
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
          resources: {{- toYaml $own.resources | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            {{- with concat (default list .mounts) $values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: { sizeLimit: 64Mi }
        {{- with concat (default list .volumes) $values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end }}

{{- /* The variables that are no secrets: those of "env", over which go those of the values, for all services and for this one. */ -}}
{{- define "service.plainEnv" -}}
{{- $values := .root.Values }}
{{- $own := index $values.services .name }}
{{- range $name, $value := mergeOverwrite (dict) .env (default (dict) $values.env) (default (dict) $own.env) }}
{{- /* Numbers of a values file are floating, and as text 1000000 would be 1e+06. */}}
{{- $isWhole := and (kindIs "float64" $value) (eq $value (floor $value)) }}
- { name: {{ $name }}, value: {{ ternary (int64 $value) $value $isWhole | toString | quote }} }
{{- end }}
{{- end }}
