{{- define "smart-gateway.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* The pods that serve, and not those of jobs and tests. */}}
{{- define "smart-gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "smart-gateway.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "smart-gateway.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{/* What no installation may be. */}}
{{- define "smart-gateway.check" -}}
{{- $isPostgres := eq .Values.database.kind "postgres" }}
{{- if and (not $isPostgres) (or (gt (int .Values.replicas) 1) .Values.autoscaling.enabled) }}
{{- fail "several gateways need one PostgreSQL database: set database.kind=postgres, or replicas=1 and autoscaling.enabled=false" }}
{{- end }}
{{- if and $isPostgres (eq .Values.secrets.name "") }}
{{- fail "database.kind=postgres needs secrets.name: the address of the database is its key database-url" }}
{{- end }}
{{- if and .Values.httpRoute.enabled (empty .Values.httpRoute.parentRefs) }}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs" }}
{{- end }}
{{- end }}

{{/* Longer than both parts of a drain together. */}}
{{- define "smart-gateway.graceSeconds" -}}
{{- $ms := add (int64 (default 5000 .Values.settings.DRAIN_ACCEPT_MS)) (int64 (default 600000 .Values.settings.DRAIN_STREAMS_MS)) -}}
{{- add 30 (div (add $ms 999) 1000) -}}
{{- end }}

{{- define "smart-gateway.environment" -}}
- { name: NODE_ID, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
- { name: ROUTING_POLICY_PATH, value: /etc/smart-gateway/policy.yaml }
- { name: MODEL_REGISTRY_PATH, value: /etc/smart-gateway/models.yaml }
{{- with .Values.secrets }}{{ if .name }}
- { name: UPSTREAM_API_KEY_FILE, value: /run/secrets/smart-gateway/upstream-api-key }
{{- if eq $.Values.database.kind "postgres" }}
- { name: DATABASE_URL_FILE, value: /run/secrets/smart-gateway/database-url }
{{- end }}
{{- if .authKeys }}
- { name: AUTH_KEYS_FILE, value: /run/secrets/smart-gateway/auth-keys }
{{- end }}
{{- if .dashboardToken }}
- { name: DASHBOARD_TOKEN_FILE, value: /run/secrets/smart-gateway/dashboard-token }
{{- end }}
{{- end }}{{ end }}
{{- if eq .Values.database.kind "postgres" }}
{{- /* The image names a file; an empty value counts as unset. */}}
- { name: DATABASE_URL, value: "" }
{{- end }}
{{- range $name, $value := .Values.settings }}
- { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- end }}

{{- define "smart-gateway.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "smart-gateway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "smart-gateway.mounts" -}}
- { name: config, mountPath: /etc/smart-gateway, readOnly: true }
{{- if .Values.secrets.name }}
- { name: secrets, mountPath: /run/secrets/smart-gateway, readOnly: true }
{{- end }}
{{- end }}

{{- define "smart-gateway.volumes" -}}
- name: config
  configMap: { name: {{ include "smart-gateway.name" . }} }
{{- with .Values.secrets }}{{ if .name }}
- name: secrets
  secret:
    secretName: {{ .name }}
    defaultMode: 0440
{{- end }}{{ end }}
{{- end }}
