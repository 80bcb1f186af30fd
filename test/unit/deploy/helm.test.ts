/** The Helm chart renders, with everything off and everything on, to objects that fit each other and the program. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { chartFiles, kubernetesRules } from '../../../docs/build/chart-files.ts';
import { ruleFile } from '../../../src/app/alerts/rule-file.ts';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { roles } from '../../../src/app/serve.ts';
import { metricCatalogue } from '../../../src/platform/metrics/catalogue.ts';
import { renderTemplate, type Value } from '../../support/helm-template.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const folder = path.join(root, 'deploy/helm/recalld');
const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8');

/** Manifests have as many shapes as kinds; what a test reads of one it expects to be there. */
// oxlint-disable-next-line typescript/no-explicit-any
type Tree = { [key: string]: any };

const chart = parse(read('Chart.yaml')) as { version: string; appVersion: string };
const defaults = parse(read('values.yaml')) as Tree;
const schema = z.fromJSONSchema(JSON.parse(read('values.schema.json')) as never);
const templates = readdirSync(path.join(folder, 'templates')).filter((name) => !name.startsWith('_'));
const packageJson = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };

const everything: Tree = {
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

/** As `npm run chart` writes them. */
const files = Object.fromEntries(chartFiles().map((file) => [file.path, file.text]));

/** What Kubernetes and the Prometheus Operator themselves take for such an object, by the schemas of their APIs. */
const kinds: Readonly<Record<string, new (data: never) => { validate(): void }>> = {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  PodMonitor,
  PrometheusRule,
  Service,
  ServiceAccount,
  ServiceMonitor,
};

function render(values: Tree): Tree[] {
  schema.parse(values);
  const context = {
    files,
    helpers: [read('templates/_helpers.tpl')],
    root: {
      Values: values as Value,
      Release: { Name: 'watch', Service: 'Helm', Namespace: 'default' },
      Chart: { AppVersion: chart.appVersion, Version: chart.version, Name: 'recalld' },
    },
  };
  return templates
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) =>
      parseAllDocuments(renderTemplate(read(`templates/${name}`), context)).map((document) => {
        expect({ name, errors: document.errors }).toEqual({ name, errors: [] });
        return document.toJS() as Tree;
      }),
    )
    .filter((object) => object !== null);
}

const ofKind = (objects: readonly Tree[], kind: string): Tree[] => objects.filter((object) => object['kind'] === kind);

const cases: [string, Tree][] = [
  ['as it comes', defaults],
  ['with everything on', everything],
  [
    'with nothing optional',
    {
      ...defaults,
      secrets: [],
      migrate: { enabled: false },
      podDisruptionBudget: { enabled: false },
      serviceAccount: { create: false },
      topologySpread: [],
    },
  ],
  ['with one role for all', { ...defaults, migrate: { ...defaults['migrate'], databaseUrl: null } }],
];

describe.each(cases)('the chart %s', (_, values) => {
  const objects = render(values);
  const pods = [...ofKind(objects, 'Deployment'), ...ofKind(objects, 'Job')].map(({ kind, metadata, spec }) => ({
    kind,
    name: metadata.name as string,
    labels: spec.template.metadata.labels as Tree,
    spec: spec.template.spec as Tree,
    container: spec.template.spec.containers[0] as Tree,
  }));

  it('has objects with a kind, a name of the release and its labels, and each once', () => {
    for (const { apiVersion, kind, metadata } of objects) {
      expect({ apiVersion, kind }).toEqual({ apiVersion: expect.any(String), kind: expect.any(String) });
      expect(metadata.name).toMatch(metadata.name === 'watcher' ? /./ : /^watch-(recalld|quality)(-[a-z]+)*$/);
      expect(metadata.labels).toMatchObject({
        ...values['commonLabels'],
        'app.kubernetes.io/name': values['nameOverride'] || 'recalld',
        'app.kubernetes.io/instance': 'watch',
      });
    }
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it('has objects that the schemas of Kubernetes and of the Prometheus Operator take', () => {
    for (const object of objects) {
      const Kind = kinds[object['kind'] as string];
      expect({ kind: object['kind'], known: Kind !== undefined }).toEqual({ kind: object['kind'], known: true });
      if (Kind !== undefined) expect(() => new Kind(object as never).validate()).not.toThrow();
    }
  });

  it('runs each role once as a deployment of its own', () => {
    const taken = pods.filter(({ kind }) => kind === 'Deployment').map(({ container }) => container['args'].at(-1));
    expect(taken.toSorted((a: string, b: string) => (a < b ? -1 : 1))).toEqual(roles.toSorted());
  });

  it('runs the image of this version, not as root, and can write nowhere but in /tmp', () => {
    for (const { container, spec } of pods) {
      const { digest } = values['image'] as Tree;
      expect(container['image']).toBe(digest === '' ? `recalld:${packageJson.version}` : `recalld@${digest}`);
      expect(spec['securityContext']).toMatchObject({ runAsNonRoot: true });
      expect(container['securityContext']).toMatchObject({
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
    expect(chart.version).toBe(packageJson.version);
  });

  it('mounts the config where its command reads it, and recalld accepts it', () => {
    const env = Object.fromEntries(
      (values['secrets'] as Tree[]).map(({ variable }) => [
        variable,
        variable === 'REDIS_URL' ? 'redis://r' : 'postgres://p/d',
      ]),
    );
    for (const { name, container, spec } of pods) {
      const file = container['args'][2] as string;
      const mount = container['volumeMounts'].find((one: Tree) => file.startsWith(`${one['mountPath']}/`));
      const volume = spec['volumes'].find((one: Tree) => one['name'] === mount.name);
      const config = ofKind(objects, 'ConfigMap').find((one) => one['metadata'].name === volume.configMap.name);
      const text = config?.['data']['recalld.yaml'] as string;
      expect({ name, found: typeof text }).toEqual({ name, found: 'string' });
      const complete =
        (values['secrets'] as Tree[]).length > 0 ? env : { DATABASE_URL: 'postgres://p/d', REDIS_URL: 'redis://r' };
      const owner = { MIGRATION_DATABASE_URL: 'postgres://owner/d' };
      const { server, storage } = parseConfig(text, 'recalld.yaml', { ...complete, ...owner }, () => '');
      if (spec['restartPolicy'] === 'Never') expect(storage.url).toMatch(/^postgres:/);
      else expect(server.host).toBe('::');
    }
  });

  it('takes secrets by reference, and every variable that the config names', () => {
    const named = new Set([...JSON.stringify(values['config']).matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name));
    for (const { kind, container } of pods) {
      const extra = new Set((values['extraEnv'] as Tree[]).map(({ name }) => name));
      const env = ((container['env'] ?? []) as Tree[]).filter(({ name }) => !extra.has(name));
      for (const one of env) expect(Object.keys(one).toSorted()).toEqual(['name', 'valueFrom']);
      const ofHook = values['migrate'].databaseUrl === null ? 'DATABASE_URL' : 'MIGRATION_DATABASE_URL';
      if ((values['secrets'] as Tree[]).length > 0)
        expect(new Set(env.map(({ name }) => name))).toEqual(kind === 'Job' ? new Set([ofHook]) : named);
    }
  });

  it('knows who owns the tables in the hook that migrates, and nowhere else', () => {
    const owner = values['migrate'].databaseUrl as Tree | null | undefined;
    for (const { kind, container } of pods) {
      const env = (container['env'] ?? []) as Tree[];
      const told = env.find(({ name }) => name === 'MIGRATION_DATABASE_URL')?.['valueFrom'].secretKeyRef as unknown;
      expect({ kind, told }).toEqual({ kind, told: kind === 'Job' ? (owner ?? undefined) : undefined });
      const others = env.filter(({ name }) => name !== 'MIGRATION_DATABASE_URL');
      for (const { valueFrom } of others) expect(valueFrom?.secretKeyRef.name).not.toBe(owner?.['name']);
      expect(container['args'].includes('--grant')).toBe(told !== undefined);
    }
  });

  it('probes, serves and scrapes ports that the daemon listens on', () => {
    const { port, metrics_port: metricsPort } = values['config'].server;
    for (const { kind, container } of pods) {
      if (kind === 'Job') continue;
      const ports = new Map((container['ports'] as Tree[]).map(({ name, containerPort }) => [name, containerPort]));
      expect([...ports.values()]).toEqual(metricsPort === undefined ? [port] : [port, metricsPort]);
      const operations = metricsPort === undefined ? 'http' : 'metrics';
      expect(container['readinessProbe'].httpGet).toEqual({ path: '/readyz', port: operations });
      expect(container['startupProbe'].httpGet).toEqual({ path: '/readyz', port: operations });
      expect(container['livenessProbe'].httpGet).toEqual({ path: '/livez', port: operations });
      for (const service of ofKind(objects, 'Service')) {
        for (const { targetPort } of service['spec'].ports as Tree[]) expect([...ports.keys()]).toContain(targetPort);
      }
    }
    for (const monitor of ofKind(objects, 'ServiceMonitor')) {
      const chosen = ofKind(objects, 'Service').filter((one) =>
        matches(monitor['spec'].selector.matchLabels, one['metadata'].labels),
      );
      expect(chosen).toHaveLength(1);
      expect(chosen[0]?.['spec'].ports.map(({ name }: Tree) => name)).toEqual([monitor['spec'].endpoints[0].port]);
      expect(chosen[0]?.['metadata'].labels[monitor['spec'].jobLabel]).toBe(values['nameOverride'] || 'recalld');
    }
  });

  it('selects pods that are there', () => {
    const selectors = [
      ...ofKind(objects, 'Service').map(({ spec }) => spec.selector),
      ...ofKind(objects, 'Deployment').map(({ spec }) => spec.selector.matchLabels),
      ...ofKind(objects, 'PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
      ...ofKind(objects, 'NetworkPolicy').map(({ spec }) => spec.podSelector.matchLabels),
      ...ofKind(objects, 'PodMonitor').map(({ spec }) => spec.selector.matchLabels),
    ] as Tree[];
    for (const selector of selectors) expect(pods.some(({ labels }) => matches(selector, labels))).toBe(true);
    // A migration must not be sent requests.
    for (const { spec } of ofKind(objects, 'Service').filter(({ spec: one }) => one.clusterIP !== 'None'))
      expect(pods.filter(({ labels }) => matches(spec.selector, labels)).map(({ name }) => name)).toEqual([
        expect.stringMatching(/^watch-(recalld|quality)-api$/),
      ]);
    for (const { spec } of ofKind(objects, 'HorizontalPodAutoscaler'))
      expect(pods.map(({ name }) => name)).toContain(spec.scaleTargetRef.name);
  });

  it('leaves the number of replicas to the autoscaler where there is one', () => {
    const scaled = new Set(ofKind(objects, 'HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name));
    for (const { metadata, spec } of ofKind(objects, 'Deployment'))
      expect({ name: metadata.name, has: spec.replicas !== undefined }).toEqual({
        name: metadata.name,
        has: !scaled.has(metadata.name),
      });
  });

  it('gives the daemon more time to end than it takes', () => {
    const { server } = parseConfig('{}', 'recalld.yaml', {}, () => '');
    for (const { kind, spec } of pods) {
      if (kind === 'Job') continue;
      expect(spec['terminationGracePeriodSeconds']).toBeGreaterThan(values['shutdown'].delay + server.shutdown_seconds);
    }
  });
});

function matches(selector: Tree, labels: Tree): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

describe('the values', () => {
  it.each([
    ['an unknown key', { ...defaults, replicas: 3 }],
    [
      'the embedded database, which replicas cannot share',
      { ...defaults, config: { ...defaults['config'], storage: { url: 'embedded' } } },
    ],
    [
      'the password of the owner written out',
      { ...defaults, migrate: { enabled: true, databaseUrl: 'postgres://recalld_owner:secret@db/recalld' } },
    ],
    ['a secret written out', { ...defaults, secrets: [{ variable: 'A', value: 'b' }] }],
    [
      'a port that is text',
      { ...defaults, config: { ...defaults['config'], server: { host: '0.0.0.0', port: '8321' } } },
    ],
  ])('are refused with %s', (_, values) => {
    expect(schema.safeParse(values).success).toBe(false);
  });

  it('have nothing that no template uses, and no template uses what they do not have', () => {
    const text = ['_helpers.tpl', ...templates].map((name) => read(`templates/${name}`)).join('\n');
    const used = new Set([...text.matchAll(/\.Values\.(\w+)/g)].map(([, key]) => key));
    expect(used).toEqual(new Set(Object.keys(defaults)));
  });

  it('scale workers by a metric that deploy/README.md makes of one that recalld exports', () => {
    const readme = readFileSync(path.join(root, 'deploy/README.md'), 'utf8');
    expect(readme).toContain(`as: ${defaults['roles'].worker.autoscaling.metric}`);
    expect(Object.keys(metricCatalogue)).toContain('recalld_queue_jobs');
  });
});

describe('a network policy', () => {
  const rag = { podSelector: { matchLabels: { app: 'rag' } } };
  const monitoring = { namespaceSelector: { matchLabels: { name: 'monitoring' } } };

  /** Who may reach a port of the pods of a role, over all policies; `everybody` where one of them names nobody. */
  function reach(role: string, port: string, given: Tree, server: Tree = {}): unknown {
    const config = { ...defaults['config'], server: { ...defaults['config'].server, ...server } };
    const objects = render({
      ...defaults,
      config,
      networkPolicy: { enabled: true, apiFrom: [], metricsFrom: [], ...given },
    });
    const pod = ofKind(objects, 'Deployment').find(({ metadata }) => metadata.name.endsWith(`-${role}`));
    const labels = pod?.['spec'].template.metadata.labels as Tree;
    const rules = ofKind(objects, 'NetworkPolicy')
      .filter(({ spec: { podSelector } }) => matches(podSelector.matchLabels, labels))
      .filter(({ spec: { podSelector } }) =>
        ((podSelector.matchExpressions ?? []) as Tree[]).every(({ key, values }) => values.includes(labels[key])),
      )
      .flatMap(({ spec }) => spec.ingress as Tree[])
      .filter(({ ports }) => (ports as Tree[]).some((one) => one['port'] === port));
    expect(rules.length).toBeGreaterThan(0);
    return rules.some(({ from }) => from === undefined) ? 'everybody' : rules.flatMap(({ from }) => from as Tree[]);
  }

  it.each([
    ['of whoever may call, lets nobody else call', 'api', 'http', { apiFrom: [rag] }, {}, [rag]],
    ['of whoever may call, leaves the scrape of workers open', 'worker', 'http', { apiFrom: [rag] }, {}, 'everybody'],
    ['of whoever may scrape, leaves the API open', 'api', 'http', { metricsFrom: [monitoring] }, {}, 'everybody'],
    ['of whoever may scrape, holds for workers', 'worker', 'http', { metricsFrom: [monitoring] }, {}, [monitoring]],
    [
      'of both, lets both to the one port',
      'api',
      'http',
      { apiFrom: [rag], metricsFrom: [monitoring] },
      {},
      [rag, monitoring],
    ],
    [
      'of both, keeps two ports apart: calls',
      'api',
      'http',
      { apiFrom: [rag], metricsFrom: [monitoring] },
      { metrics_port: 9321 },
      [rag],
    ],
    [
      'of both, keeps two ports apart: scrapes',
      'api',
      'metrics',
      { apiFrom: [rag], metricsFrom: [monitoring] },
      { metrics_port: 9321 },
      [monitoring],
    ],
    [
      'of whoever may call, leaves the metrics port open',
      'api',
      'metrics',
      { apiFrom: [rag] },
      { metrics_port: 9321 },
      'everybody',
    ],
    ['of nobody in particular lets everybody', 'api', 'http', {}, {}, 'everybody'],
  ] as const)('%s', (_, role, port, given, server, expected) => {
    expect(reach(role, port, given, server)).toEqual(expected);
  });
});

describe('the PrometheusRule', () => {
  it('has the shipped rules, with their own braces', () => {
    const enabled = { ...defaults, prometheusRule: { enabled: true, labels: {} } };
    const [rule] = ofKind(render(enabled), 'PrometheusRule');
    expect(rule?.['spec']).toEqual(ruleFile(kubernetesRules));
    expect(JSON.stringify(rule)).toContain('{{ $labels.');
  });

  it('leads to the console of the config and to the runbooks there', () => {
    const text = JSON.stringify(ofKind(render(everything), 'PrometheusRule'));
    expect(text).toContain('https://recalld.example.com/runbooks/RecalldCheckCritical');
    expect(text).not.toContain('.invalid');
  });
});

describe('the systemd units', () => {
  const unit = (name: string): string => readFileSync(path.join(root, 'deploy/systemd', name), 'utf8');

  it.each(['recalld.service', 'recalld@.service'])(
    '%s waits longer than a stop takes, and does not retry a wrong config',
    (name) => {
      const { server } = parseConfig('{}', 'recalld.yaml', {}, () => '');
      const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit(name))?.[1]);
      expect(seconds).toBeGreaterThan(server.shutdown_seconds);
      expect(unit(name)).toMatch(/^KillSignal=SIGTERM$/m);
      expect(unit(name)).toMatch(/^RestartPreventExitStatus=2$/m);
      expect(unit(name)).toMatch(
        /^ExecStart=\/usr\/bin\/recalld serve --config \/etc\/recalld\/recalld\.yaml( --roles %i)?$/m,
      );
    },
  );
});
