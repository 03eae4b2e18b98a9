{{- /*
Everything that has pods. "calls": ports of other components that it uses; a test compares them with the code. "servers": servers outside of the
release that it uses, by their names in `networkPolicy`. "secrets": keys of its Secret that become variables.
*/ -}}
{{- define "knowledge-repository.components" -}}
{{- $values := .Values }}
{{- $usesDatacite := ternary (list "datacite") list (ne $values.datacite.repository "") }}
{{- $traces := ternary (list "tracing") list (ne $values.tracing.endpoint "") }}
{{- $data := concat (list "postgres" "nats") $traces }}
gateway:
  calls: { records: [grpc], packages: [grpc], files: [grpc, content], access-links: [grpc], search: [grpc], web: [http] }
  servers: {{ concat $data (ternary (list "oidc") list (ne $values.oidc.issuer "")) | toJson }}
  ports: { grpc: 50051, http: 8080 }
  secrets: [SEALING_KEY, WEB_KEY]
records:
  calls: { packages: [grpc], files: [grpc], access-links: [grpc] }
  servers: {{ concat $data $usesDatacite | toJson }}
  ports: { grpc: 50051 }
  secrets: [FILES_TICKET_KEY, ACCESS_LINKS_TICKET_KEY]
packages:
  calls: { records: [grpc], files: [grpc], access-links: [grpc] }
  servers: {{ concat $data $usesDatacite | toJson }}
  ports: { grpc: 50051 }
  secrets: [FILES_TICKET_KEY, ACCESS_LINKS_TICKET_KEY]
files:
  calls: { records: [grpc], packages: [grpc] }
  servers: {{ concat $data (ternary (list "objectStore") list (eq $values.files.store "s3")) | toJson }}
  ports: { grpc: 50051, content: 8082 }
  secrets: [FILES_TICKET_KEY]
access-links:
  calls: {}
  servers: {{ $data | toJson }}
  ports: { grpc: 50051 }
  secrets: [ACCESS_LINKS_TICKET_KEY, LINK_TOKEN_KEY]
search:
  calls: { records: [grpc], packages: [grpc] }
  servers: {{ concat $data (ternary (list "elasticsearch") list (eq $values.search.engine "elasticsearch")) | toJson }}
  ports: { grpc: 50051 }
web:
  calls: { gateway: [http] }
  servers: {{ $traces | toJson }}
  ports: { http: 8080 }
  secrets: [WEB_KEY]
connection-test:
  calls: { gateway: [http], web: [http] }
{{- if $values.toolbox.enabled }}
toolbox:
  calls: { gateway: [grpc], records: [grpc], packages: [grpc], files: [grpc], search: [grpc] }
  servers: [postgres, nats]
{{- end }}
{{- if $values.firstAdmin.enabled }}
first-admin:
  calls: { gateway: [grpc] }
{{- end }}
{{- if $values.backup.enabled }}
backup:
  calls: {}
  servers: [postgres]
{{- end }}
{{- end }}

{{- define "knowledge-repository.services" -}}
[gateway, records, packages, files, access-links, search, web]
{{- end }}

{{- /* The variables of a service that are no secrets. Takes "root", "name", "component" (a row of the table). */ -}}
{{- define "knowledge-repository.env" -}}
{{- $root := .root }}
{{- $values := .root.Values }}
HEALTH_PORT: "8081"
{{- with .component.ports.grpc }}
GRPC_HOST: 0.0.0.0
GRPC_PORT: {{ . | quote }}
{{- end }}
{{- with .component.ports.http }}
HTTP_HOST: 0.0.0.0
HTTP_PORT: {{ . | quote }}
{{- end }}
{{- with .component.ports.content }}
CONTENT_PORT: {{ . | quote }}
{{- end }}
{{- range $callee, $ports := .component.calls }}
{{- if has "grpc" $ports }}
{{ include "knowledge-repository.variablePrefix" $callee }}_ADDRESS: {{ include "knowledge-repository.fullname" (dict "root" $root "name" $callee) }}:50051
{{- end }}
{{- end }}
{{- if $values.metrics.enabled }}
OTEL_METRICS_EXPORTER: prometheus
OTEL_EXPORTER_PROMETHEUS_HOST: 0.0.0.0
OTEL_EXPORTER_PROMETHEUS_PORT: "9464"
{{- end }}
{{- with $values.tracing.endpoint }}
OTEL_TRACES_EXPORTER: otlp
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {{ printf "%s/v1/traces" (trimSuffix "/" .) | quote }}
OTEL_TRACES_SAMPLER: parentbased_traceidratio
OTEL_TRACES_SAMPLER_ARG: {{ $values.tracing.ratio | quote }}
{{- end }}
{{- if and $values.vocabulariesConfigMap (has .name (list "gateway" "records" "packages" "search")) }}
VOCABULARY_DIR: /vocabularies
{{- end }}
{{- if has .name (list "records" "packages" "web") }}
OAI_PREFIX: {{ $values.identifiers.oaiPrefix | quote }}
{{- end }}
{{- if has .name (list "records" "packages") }}
DOI_PREFIX: {{ $values.identifiers.doiPrefix | quote }}
{{- if $values.identifiers.allowTest }}
ALLOW_TEST_IDENTIFIERS: "true"
{{- end }}
{{- with $values.datacite.repository }}
DATACITE_REPOSITORY: {{ . | quote }}
DATACITE_URL: {{ $values.datacite.url | quote }}
{{- end }}
{{- end }}
{{- if or (has .name (list "gateway" "web")) (and $values.datacite.repository (has .name (list "records" "packages"))) }}
PUBLIC_BASE_URL: {{ $values.publicUrl | quote }}
{{- end }}
{{- if eq .name "gateway" }}
TRUSTED_PROXIES: {{ join "," $values.trustedProxies | quote }}
FILES_CONTENT_URL: http://{{ include "knowledge-repository.fullname" (dict "root" $root "name" "files") }}-content:8082
WEB_URL: http://{{ include "knowledge-repository.fullname" (dict "root" $root "name" "web") }}:8080
{{- with $values.oidc.issuer }}
OIDC_ISSUER: {{ . | quote }}
OIDC_AUDIENCE: {{ required "oidc.audience is required with oidc.issuer" $values.oidc.audience | quote }}
{{- end }}
{{- end }}
{{- if eq .name "web" }}
GATEWAY_URL: http://{{ include "knowledge-repository.fullname" (dict "root" $root "name" "gateway") }}:8080
SITE_NAME: {{ $values.siteName | quote }}
{{- with $values.contactEmail }}
CONTACT_EMAIL: {{ . | quote }}
{{- end }}
{{- end }}
{{- if eq .name "files" }}
FILES_STORE: {{ $values.files.store }}
{{- if eq $values.files.store "s3" }}
{{- with $values.files.s3.endpoint }}
S3_ENDPOINT: {{ . | quote }}
{{- end }}
S3_REGION: {{ $values.files.s3.region | quote }}
S3_BUCKET: {{ required "files.s3.bucket is required with files.store s3" $values.files.s3.bucket | quote }}
{{- else }}
STORAGE_DIR: /files
{{- end }}
{{- end }}
{{- if eq .name "search" }}
SEARCH_ENGINE: {{ $values.search.engine }}
{{- if eq $values.search.engine "elasticsearch" }}
ELASTICSEARCH_URL: {{ required "search.elasticsearch.url is required with search.engine elasticsearch" $values.search.elasticsearch.url | quote }}
ELASTICSEARCH_INDEX_PREFIX: {{ $values.search.elasticsearch.indexPrefix | quote }}
ELASTICSEARCH_REPLICAS: {{ $values.search.elasticsearch.replicas | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The keys of the Secret of a service that become variables; a missing "optional" one is no error. */ -}}
{{- define "knowledge-repository.secrets" -}}
{{- $values := .root.Values }}
{{- $required := default list .component.secrets }}
{{- if has "postgres" .component.servers }}
{{- $required = concat $required (list "DATABASE_URL" "NATS_URL" "CALLER_KEYS") }}
{{- end }}
{{- range $callee, $ports := .component.calls }}
{{- if has "grpc" $ports }}
{{- $required = append $required (printf "%s_KEY" (include "knowledge-repository.variablePrefix" $callee)) }}
{{- end }}
{{- end }}
{{- if has "datacite" .component.servers }}{{ $required = append $required "DATACITE_PASSWORD" }}{{ end }}
{{- $optional := list }}
{{- if has "objectStore" .component.servers }}{{ $optional = list "S3_ACCESS_KEY_ID" "S3_SECRET_ACCESS_KEY" }}{{ end }}
{{- if has "elasticsearch" .component.servers }}{{ $optional = list "ELASTICSEARCH_API_KEY" }}{{ end }}
{{- if eq .name "access-links" }}{{ $optional = list "LINK_TOKEN_PREVIOUS_KEYS" }}{{ end }}
{{- dict "required" $required "optional" $optional | toYaml }}
{{- end }}

{{- define "knowledge-repository.volumes" -}}
{{- $values := .root.Values }}
{{- $volumes := list }}
{{- $mounts := list }}
{{- with $values.vocabulariesConfigMap }}
{{- if has $.name (list "gateway" "records" "packages" "search") }}
{{- $volumes = append $volumes (dict "name" "vocabularies" "configMap" (dict "name" .)) }}
{{- $mounts = append $mounts (dict "name" "vocabularies" "mountPath" "/vocabularies" "readOnly" true) }}
{{- end }}
{{- end }}
{{- if has .name (list "toolbox" "first-admin" "backup") }}
{{- $volumes = append $volumes (dict "name" "operator" "secret" (dict "secretName" (include "knowledge-repository.operatorSecret" .root))) }}
{{- $mounts = append $mounts (dict "name" "operator" "mountPath" "/operator" "readOnly" true) }}
{{- end }}
{{- if eq .name "backup" }}
{{- $volumes = append $volumes (dict "name" "backups" "persistentVolumeClaim" (dict "claimName" $values.backup.existingClaim)) }}
{{- $mounts = append $mounts (dict "name" "backups" "mountPath" "/backups") }}
{{- end }}
{{- if and (has .name (list "files" "backup")) (eq $values.files.store "filesystem") }}
{{- $claim := default (printf "%s-files" (include "knowledge-repository.prefix" .root)) $values.files.existingClaim }}
{{- $volumes = append $volumes (dict "name" "files" "persistentVolumeClaim" (dict "claimName" $claim)) }}
{{- $mounts = append $mounts (dict "name" "files" "mountPath" "/files" "readOnly" (eq .name "backup")) }}
{{- end }}
{{- dict "volumes" $volumes "mounts" $mounts | toYaml }}
{{- end }}

{{- /* The Secret with the keys of operators. Argument: the root. */ -}}
{{- define "knowledge-repository.operatorSecret" -}}
{{ printf "%s-operator" .Values.existingSecretPrefix }}
{{- end }}
