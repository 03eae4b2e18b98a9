{{- /* Rejects values that are unsafe together, all of them with one message. */ -}}
{{- define "knowledge-repository.validate" -}}
{{- $values := .Values }}
{{- $isPublic := or $values.ingress.enabled $values.httpRoute.enabled }}
{{- $isHttps := hasPrefix "https:" $values.publicUrl }}
{{- $ofFiles := include "knowledge-repository.valuesOf" (dict "root" . "name" "files") | fromYaml }}
{{- $hasReplicas := or $ofFiles.autoscaling.enabled (gt (int $ofFiles.replicas) 1) }}
{{- $onVolume := eq $values.files.store "filesystem" }}
{{- $problems := list
  (list (not $values.identifiers.doiPrefix) "identifiers.doiPrefix is required: the DOI prefix registered for this repository")
  (list (not $values.identifiers.oaiPrefix) "identifiers.oaiPrefix is required: the domain name in OAI identifiers")
  (list (and (eq $values.identifiers.doiPrefix "10.5072") (not $values.identifiers.allowTest)) "identifiers.doiPrefix 10.5072 is for tests: set identifiers.allowTest, or your own prefix")
  (list (and $isPublic (not $values.trustedProxies)) "trustedProxies is required with ingress.enabled or httpRoute.enabled: without the addresses of the proxy all visitors share one rate limit")
  (list (and $isPublic $values.networkPolicy.enabled (not $values.networkPolicy.ingressPeers)) "networkPolicy.ingressPeers is required with ingress.enabled or httpRoute.enabled: the proxy that may call the pages")
  (list (and $values.ingress.enabled $isHttps (not $values.ingress.tlsSecret) (not $values.ingress.tlsInFront)) "publicUrl is https: set ingress.tlsSecret, or ingress.tlsInFront if a proxy in front of the ingress ends TLS")
  (list (and $values.ingress.tlsSecret (not $isHttps)) "ingress.tlsSecret is set: publicUrl has to be https, otherwise links lead to unencrypted pages")
  (list (and $values.httpRoute.enabled (not $values.httpRoute.parentRefs)) "httpRoute.parentRefs is required with httpRoute.enabled: the Gateway that serves publicUrl")
  (list (and $onVolume (not $values.files.existingClaim) (not $values.dev.enabled)) "files.existingClaim is required with files.store filesystem")
  (list (and $onVolume (not $values.files.existingClaim) $values.dev.enabled $hasReplicas) "files.existingClaim is required for several replicas of files: the claim of dev.enabled can be mounted on one node only")
  (list (and $values.dev.enabled $values.datacite.repository) "datacite.repository registers permanent DOIs: it cannot be used with dev.enabled, whose data is not backed up")
  (list (and $values.dev.enabled $values.migrations.hook.enabled) "migrations.hook.enabled has to be false with dev.enabled: the database is part of the release and is not there before it")
  (list (and $values.backup.enabled (not $values.backup.existingClaim)) "backup.existingClaim is required with backup.enabled: the volume of the backups")
  (list (and $values.caBundle.existingConfigMap $values.caBundle.existingSecret) "caBundle has either existingConfigMap or existingSecret")
}}
{{- $messages := list }}
{{- range $problems }}{{ if first . }}{{ $messages = append $messages (last .) }}{{ end }}{{ end }}
{{- with $messages }}{{ fail (join "\n" .) }}{{ end }}
{{- end }}
