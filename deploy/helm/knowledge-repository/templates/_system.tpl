{{- /* Whom each service calls. A test compares it with the code. */ -}}
{{- define "system.calls" -}}
gateway: [records, packages, files, access-links, search]
records: [packages, files, access-links]
packages: [records, files, access-links]
files: [records, packages]
access-links: []
search: [records, packages]
web: []
{{- end }}

{{- define "system.ports" -}}
{{- $ports := dict "grpc" 50051 "health" 8081 }}
{{- if has .name (list "gateway" "web") }}{{ $_ := set $ports "http" 8080 }}{{ end }}
{{- if eq .name "web" }}{{ $_ := unset $ports "grpc" }}{{ end }}
{{- if eq .name "files" }}{{ $_ := set $ports "content" 8082 }}{{ end }}
{{- if .root.Values.metrics.enabled }}{{ $_ := set $ports "metrics" 9464 }}{{ end }}
{{- toYaml $ports }}
{{- end }}

{{- /* The variables of a service that are no secrets. */ -}}
{{- define "system.env" -}}
{{- $root := .root }}
{{- $values := .root.Values }}
{{- if ne .name "web" }}
GRPC_HOST: 0.0.0.0
GRPC_PORT: "50051"
{{- end }}
HEALTH_PORT: "8081"
{{- range .calls }}
{{ include "service.prefix" (dict "name" .) }}_ADDRESS: {{ include "service.fullname" (dict "root" $root "name" .) }}:50051
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
{{- if has .name (list "records" "packages") }}
DOI_PREFIX: {{ required "identifiers.doiPrefix is required: the DOI prefix registered for this repository" $values.identifiers.doiPrefix | quote }}
OAI_PREFIX: {{ required "identifiers.oaiPrefix is required: the domain name in OAI identifiers" $values.identifiers.oaiPrefix | quote }}
{{- if $values.identifiers.allowTest }}
ALLOW_TEST_IDENTIFIERS: "true"
{{- end }}
{{- with $values.datacite.repository }}
DATACITE_REPOSITORY: {{ . | quote }}
DATACITE_URL: {{ $values.datacite.url | quote }}
PUBLIC_BASE_URL: {{ $values.publicUrl | quote }}
{{- end }}
{{- end }}
{{- if eq .name "gateway" }}
HTTP_HOST: 0.0.0.0
HTTP_PORT: "8080"
PUBLIC_BASE_URL: {{ $values.publicUrl | quote }}
TRUSTED_PROXIES: {{ join "," $values.trustedProxies | quote }}
FILES_CONTENT_URL: http://{{ include "service.fullname" (dict "root" $root "name" "files") }}-content:8082
WEB_URL: http://{{ include "service.fullname" (dict "root" $root "name" "web") }}:8080
{{- end }}
{{- if eq .name "web" }}
HTTP_HOST: 0.0.0.0
HTTP_PORT: "8080"
GATEWAY_URL: http://{{ include "service.fullname" (dict "root" $root "name" "gateway") }}:8080
PUBLIC_BASE_URL: {{ $values.publicUrl | quote }}
SITE_NAME: {{ $values.siteName | quote }}
OAI_PREFIX: {{ $values.identifiers.oaiPrefix | quote }}
{{- with $values.contactEmail }}
CONTACT_EMAIL: {{ . | quote }}
{{- end }}
{{- end }}
{{- if eq .name "files" }}
CONTENT_PORT: "8082"
FILES_STORE: {{ $values.files.store }}
{{- if eq $values.files.store "s3" }}
{{- with $values.files.s3.endpoint }}
S3_ENDPOINT: {{ . | quote }}
{{- end }}
S3_REGION: {{ $values.files.s3.region | quote }}
S3_BUCKET: {{ required "files.s3.bucket is needed with files.store s3" $values.files.s3.bucket | quote }}
{{- else }}
STORAGE_DIR: /files
{{- end }}
{{- end }}
{{- if eq .name "search" }}
SEARCH_ENGINE: {{ $values.search.engine }}
{{- if eq $values.search.engine "elasticsearch" }}
ELASTICSEARCH_URL: {{ required "search.elasticsearch.url is needed with search.engine elasticsearch" $values.search.elasticsearch.url | quote }}
ELASTICSEARCH_INDEX_PREFIX: {{ $values.search.elasticsearch.indexPrefix | quote }}
ELASTICSEARCH_REPLICAS: {{ $values.search.elasticsearch.replicas | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Names of secret variables of a service, all of them keys of its Secret. */ -}}
{{- define "system.secrets" -}}
{{- $names := eq .name "web" | ternary list (list "DATABASE_URL" "NATS_URL" "CALLER_KEYS") }}
{{- range .calls }}{{ $names = append $names (printf "%s_KEY" (include "service.prefix" (dict "name" .))) }}{{ end }}
{{- $own := dict
  "gateway" (list "SEALING_KEY" "WEB_KEY")
  "records" (list "FILES_TICKET_KEY" "ACCESS_LINKS_TICKET_KEY")
  "packages" (list "FILES_TICKET_KEY" "ACCESS_LINKS_TICKET_KEY")
  "files" (list "FILES_TICKET_KEY")
  "access-links" (list "ACCESS_LINKS_TICKET_KEY" "LINK_TOKEN_KEY")
  "web" (list "WEB_KEY") }}
{{- if and .root.Values.datacite.repository (has .name (list "records" "packages")) }}
{{- $names = append $names "DATACITE_PASSWORD" }}
{{- end }}
{{- concat $names (default list (index $own .name)) | toYaml }}
{{- end }}

{{- define "system.optionalSecrets" -}}
{{- $names := list }}
{{- if and (eq .name "files") (eq .root.Values.files.store "s3") }}{{ $names = list "S3_ACCESS_KEY_ID" "S3_SECRET_ACCESS_KEY" }}{{ end }}
{{- if eq .name "access-links" }}{{ $names = list "LINK_TOKEN_PREVIOUS_KEYS" }}{{ end }}
{{- if and (eq .name "search") (eq .root.Values.search.engine "elasticsearch") }}
{{- $names = list "ELASTICSEARCH_API_KEY" }}
{{- end }}
{{- toYaml $names }}
{{- end }}

{{- /* "true" if more than one pod of a service may run, otherwise empty. */ -}}
{{- define "system.hasReplicas" -}}
{{- $own := index .root.Values.services .name }}
{{- if or $own.autoscaling.enabled (gt (int $own.replicas) 1) }}true{{ end }}
{{- end }}

{{- define "system.volumes" -}}
{{- $volumes := list }}
{{- $mounts := list }}
{{- $values := .root.Values }}
{{- if and $values.vocabulariesConfigMap (has .name (list "gateway" "records" "packages" "search")) }}
{{- $volumes = append $volumes (dict "name" "vocabularies" "configMap" (dict "name" $values.vocabulariesConfigMap)) }}
{{- $mounts = append $mounts (dict "name" "vocabularies" "mountPath" "/vocabularies" "readOnly" true) }}
{{- end }}
{{- if and (eq .name "files") (eq $values.files.store "filesystem") }}
{{- $claim := ternary (printf "%s-files" (include "service.prefixOfNames" .)) $values.files.existingClaim (and $values.dev.enabled (not $values.files.existingClaim)) }}
{{- $claim = required "files.existingClaim is needed with files.store filesystem" $claim }}
{{- $volumes = append $volumes (dict "name" "files" "persistentVolumeClaim" (dict "claimName" $claim)) }}
{{- $mounts = append $mounts (dict "name" "files" "mountPath" "/files") }}
{{- end }}
{{- dict "volumes" $volumes "mounts" $mounts | toYaml }}
{{- end }}

{{- /* Peers of a rule; none are left out, so that the rule is about the port alone. */ -}}
{{- define "system.rule" -}}
{{- $rule := dict "ports" (list (dict "port" .port "protocol" "TCP")) }}
{{- if .peers }}{{ $_ := set $rule .side .peers }}{{ end }}
{{- toYaml (list $rule) }}
{{- end }}

{{- /* A rule for the pods of one service. */ -}}
{{- define "system.ruleOf" -}}
{{- $peer := dict "podSelector" (dict "matchLabels" (include "service.selector" (dict "root" .root "name" .name) | fromYaml)) }}
{{- include "system.rule" (dict "side" .side "port" .port "peers" (list $peer)) }}
{{- end }}

{{- define "system.ingress" -}}
{{- $values := .root.Values }}
{{- $rules := list }}
{{- $other := get (dict "gateway" "web" "web" "gateway") .name }}
{{- if $other }}
{{- $rules = concat $rules (include "system.rule" (dict "side" "from" "port" "http" "peers" $values.networkPolicy.ingressPeers) | fromYamlArray) }}
{{- if $values.networkPolicy.ingressPeers }}
{{- $rules = concat $rules (include "system.ruleOf" (dict "root" .root "side" "from" "port" "http" "name" $other) | fromYamlArray) }}
{{- end }}
{{- end }}
{{- if eq .name "files" }}
{{- $rules = concat $rules (include "system.ruleOf" (dict "root" .root "side" "from" "port" "content" "name" "gateway") | fromYamlArray) }}
{{- end }}
{{- if $values.metrics.enabled }}
{{- $rules = concat $rules (include "system.rule" (dict "side" "from" "port" "metrics" "peers" $values.networkPolicy.metricsPeers) | fromYamlArray) }}
{{- end }}
{{- toYaml $rules }}
{{- end }}

{{- /* Takes besides "server": postgres or nats. */ -}}
{{- define "system.egressToServer" -}}
{{- $values := .root.Values }}
{{- $server := index $values.networkPolicy .server }}
{{- $bundled := list (dict "podSelector" (dict "matchLabels" (include "service.selector" (dict "root" .root "name" .server) | fromYaml))) }}
{{- include "system.rule" (dict "side" "to" "port" $server.port "peers" (ternary $bundled $server.peers $values.dev.enabled)) }}
{{- end }}

{{- define "system.egress" -}}
{{- $values := .root.Values }}
{{- $rules := list }}
{{- if eq .name "gateway" }}
{{- $rules = concat $rules (include "system.ruleOf" (dict "root" .root "side" "to" "port" "content" "name" "files") | fromYamlArray) }}
{{- $rules = concat $rules (include "system.ruleOf" (dict "root" .root "side" "to" "port" "http" "name" "web") | fromYamlArray) }}
{{- end }}
{{- if eq .name "web" }}
{{- $rules = concat $rules (include "system.ruleOf" (dict "root" .root "side" "to" "port" "http" "name" "gateway") | fromYamlArray) }}
{{- else }}
{{- range list "postgres" "nats" }}
{{- $rules = concat $rules (include "system.egressToServer" (dict "root" $.root "server" .) | fromYamlArray) }}
{{- end }}
{{- end }}
{{- $stores := dict }}
{{- if eq $values.files.store "s3" }}{{ $_ := set $stores "files" "objectStore" }}{{ end }}
{{- if eq $values.search.engine "elasticsearch" }}{{ $_ := set $stores "search" "elasticsearch" }}{{ end }}
{{- with index $stores .name }}
{{- $store := index $values.networkPolicy . }}
{{- $rules = concat $rules (include "system.rule" (dict "side" "to" "port" $store.port "peers" $store.peers) | fromYamlArray) }}
{{- end }}
{{- if and $values.datacite.repository (has .name (list "records" "packages")) }}
{{- $rules = concat $rules (include "system.rule" (dict "side" "to" "port" $values.networkPolicy.datacite.port "peers" $values.networkPolicy.datacite.peers) | fromYamlArray) }}
{{- end }}
{{- concat $rules (include "system.extraEgress" . | fromYamlArray) | toYaml }}
{{- end }}

{{- /* Where operators let a service go besides. */ -}}
{{- define "system.extraEgress" -}}
{{- $own := index .root.Values.services .name }}
{{- concat (default list .root.Values.networkPolicy.extraEgress) (default list $own.extraEgress) | toYaml }}
{{- end }}
