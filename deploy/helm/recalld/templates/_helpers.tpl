{{- define "recalld.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 48 | trimSuffix "-" }}
{{- end }}

{{- define "recalld.fullname" -}}
{{- $name := include "recalld.name" . }}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 48 | trimSuffix "-" }}
{{- else }}{{ if contains $name .Release.Name }}{{ .Release.Name | trunc 48 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" }}
{{- end }}{{ end }}
{{- end }}

{{- define "recalld.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "recalld.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- if .Values.commonLabels }}
{{ toYaml .Values.commonLabels }}
{{- end }}
{{- end }}

{{- define "recalld.selector" -}}
app.kubernetes.io/name: {{ include "recalld.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "recalld.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "recalld.fullname" .) }}
{{- else }}{{ .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "recalld.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "recalld.operationsPort" -}}
{{ if .Values.config.server.metrics_port }}metrics{{ else }}http{{ end }}
{{- end }}

{{- define "recalld.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "recalld.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end }}
