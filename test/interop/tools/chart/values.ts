/** Values for the Helm chart: the defaults, all features enabled, and values that the chart rejects. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

export const chartFolder = path.resolve(import.meta.dirname, '../../../../deploy/helm/recalld');
export const readChart = (file: string): string => readFileSync(path.join(chartFolder, file), 'utf8');

/** The form of a manifest depends on its kind, so its fields have no types. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Tree = { [key: string]: any };

export const defaults = parse(readChart('values.yaml')) as Tree;

export const everything: Tree = {
  ...defaults,
  nameOverride: 'quality',
  fullnameOverride: 'watch-quality',
  commonLabels: { team: 'search' },
  image: { ...defaults['image'], digest: `sha256:${'a'.repeat(64)}` },
  migrate: {
    ...defaults['migrate'],
    extraVolumes: [{ name: 'ca', secret: { secretName: 'db-ca' } }],
    extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca', readOnly: true }],
  },
  service: { type: 'ClusterIP', annotations: { 'example.com/internal': 'true' } },
  ingress: {
    enabled: true,
    className: 'nginx',
    annotations: { 'cert-manager.io/cluster-issuer': 'internal' },
    hosts: [{ host: 'recalld.example.com', paths: [{ path: '/', pathType: 'Prefix' }] }],
    tls: [{ hosts: ['recalld.example.com'], secretName: 'recalld-tls' }],
  },
  serviceAccount: { create: true, name: 'watcher', annotations: { 'example.com/role': 'reader' } },
  podMonitor: { enabled: true, interval: '30s', labels: { release: 'prometheus' } },
  dashboards: { enabled: true, labels: { grafana_dashboard: '1' }, annotations: { folder: 'RAG' } },
  extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/tls/ca.pem' }],
  extraVolumes: [{ name: 'tls', secret: { secretName: 'recalld-tls-files' } }],
  extraVolumeMounts: [{ name: 'tls', mountPath: '/etc/tls', readOnly: true }],
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  topologySpread: [
    { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' },
    { maxSkew: 2, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
  ],
  priorityClassName: 'monitoring',
  podLabels: { 'sidecar.istio.io/inject': 'false' },
  imagePullSecrets: [{ name: 'registry' }],
  config: {
    ...defaults['config'],
    server: { host: '::', port: 8321, metrics_port: 9321 },
    alerts: { console_base_url: 'https://recalld.example.com/' },
    pipelines: [{ name: 'docs', retriever: { kind: 'http', url: 'http://rag/', body: { query: '{{text}}' } } }],
  },
  roles: {
    ...defaults['roles'],
    api: { ...defaults['roles'].api, autoscaling: { ...defaults['roles'].api.autoscaling, enabled: true } },
    worker: {
      ...defaults['roles'].worker,
      autoscaling: { ...defaults['roles'].worker.autoscaling, enabled: true },
    },
  },
  serviceMonitor: { enabled: true, interval: '30s', labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  networkPolicy: {
    enabled: true,
    apiFrom: [{ podSelector: { matchLabels: { app: 'rag' } } }],
    metricsFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
  },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'batch', operator: 'Exists' }],
  podAnnotations: { team: 'search' },
};

export const cases: [string, Tree][] = [
  ['with default values', defaults],
  ['with all features enabled', everything],
  [
    'without optional objects',
    {
      ...defaults,
      secrets: [],
      migrate: { enabled: false },
      podDisruptionBudget: { enabled: false },
      serviceAccount: { create: false },
      topologySpread: [],
    },
  ],
  ['with one database role for all processes', { ...defaults, migrate: { ...defaults['migrate'], databaseUrl: null } }],
];

export const refused: [string, Tree][] = [
  ['an unknown key', { ...defaults, replicas: 3 }],
  [
    'the embedded database, which replicas cannot share',
    { ...defaults, config: { ...defaults['config'], storage: { url: 'embedded' } } },
  ],
  [
    'a plain-text password of the database owner',
    { ...defaults, migrate: { enabled: true, databaseUrl: 'postgres://recalld_owner:secret@db/recalld' } },
  ],
  ['a plain-text secret', { ...defaults, secrets: [{ variable: 'A', value: 'b' }] }],
  [
    'a port that is a string',
    { ...defaults, config: { ...defaults['config'], server: { host: '0.0.0.0', port: '8321' } } },
  ],
];
