/** Requirements for the objects that Helm renders from the chart: they match each other and the program. */
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
import { defaultRuleSettings } from '../../../../src/app/alerts/rule-file.ts';
import { parseConfig } from '../../../../src/app/config/parse.ts';
import { roles } from '../../../../src/app/serve.ts';
import { cases, defaults, everything, type Tree } from './values.ts';

/** Classes that validate objects by kind, from the API schemas of Kubernetes and the Prometheus Operator. */
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

const ofKind = (objects: readonly Tree[], kind: string): Tree[] => objects.filter((object) => object['kind'] === kind);

function matches(selector: Tree, labels: Tree): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

/** @param render renders the chart with the rules and dashboards of `stubFiles` */
export function describeChart(render: (values: Tree) => readonly Tree[], version: string): void {
  describe.each(cases)('the chart %s', (_, values) => {
    const objects = render(values);
    const pods = [...ofKind(objects, 'Deployment'), ...ofKind(objects, 'Job')].map(({ kind, metadata, spec }) => ({
      kind,
      name: metadata.name as string,
      labels: spec.template.metadata.labels as Tree,
      spec: spec.template.spec as Tree,
      container: spec.template.spec.containers[0] as Tree,
    }));

    it('has unique objects, each with a kind, the name of the release, and its labels', () => {
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

    it('has objects that are valid in the schemas of Kubernetes and of the Prometheus Operator', () => {
      for (const object of objects) {
        const Kind = kinds[object['kind'] as string];
        expect({ kind: object['kind'], known: Kind !== undefined }).toEqual({ kind: object['kind'], known: true });
        if (Kind !== undefined) expect(() => new Kind(object as never).validate()).not.toThrow();
      }
    });

    it('runs each role in a separate Deployment', () => {
      const taken = pods.filter(({ kind }) => kind === 'Deployment').map(({ container }) => container['args'].at(-1));
      expect(taken.toSorted((a: string, b: string) => (a < b ? -1 : 1))).toEqual(roles.toSorted());
    });

    it('runs the image of this version, not as root, and with a read-only root file system', () => {
      for (const { container, spec } of pods) {
        const { digest } = values['image'] as Tree;
        expect(container['image']).toBe(digest === '' ? `recalld:${version}` : `recalld@${digest}`);
        expect(spec['securityContext']).toMatchObject({ runAsNonRoot: true });
        expect(container['securityContext']).toMatchObject({
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    });

    it('mounts the config at the path that the command reads, and recalld accepts the config', () => {
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

    it('sets every variable that the config uses, by reference to a secret', () => {
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

    it('passes the database URL of the table owner only to the migration hook', () => {
      const owner = values['migrate'].databaseUrl as Tree | null | undefined;
      for (const { kind, container } of pods) {
        const env = (container['env'] ?? []) as Tree[];
        const ownerReference = env.find(({ name }) => name === 'MIGRATION_DATABASE_URL')?.['valueFrom']
          .secretKeyRef as unknown;
        expect({ kind, ownerReference }).toEqual({
          kind,
          ownerReference: kind === 'Job' ? (owner ?? undefined) : undefined,
        });
        const others = env.filter(({ name }) => name !== 'MIGRATION_DATABASE_URL');
        for (const { valueFrom } of others) expect(valueFrom?.secretKeyRef.name).not.toBe(owner?.['name']);
        expect(container['args'].includes('--grant')).toBe(ownerReference !== undefined);
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
      }
    });

    it('sets the job label that the rules expect on scraped series', () => {
      const endpoints = [
        ...ofKind(objects, 'ServiceMonitor').flatMap(({ spec }) => spec.endpoints as Tree[]),
        ...ofKind(objects, 'PodMonitor').flatMap(({ spec }) => spec.podMetricsEndpoints as Tree[]),
      ];
      for (const { relabelings } of endpoints)
        expect(relabelings).toEqual([{ targetLabel: 'job', replacement: defaultRuleSettings.scrapeJob }]);
    });

    it('selects only pods that exist', () => {
      const selectors = [
        ...ofKind(objects, 'Service').map(({ spec }) => spec.selector),
        ...ofKind(objects, 'Deployment').map(({ spec }) => spec.selector.matchLabels),
        ...ofKind(objects, 'PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
        ...ofKind(objects, 'NetworkPolicy').map(({ spec }) => spec.podSelector.matchLabels),
        ...ofKind(objects, 'PodMonitor').map(({ spec }) => spec.selector.matchLabels),
      ] as Tree[];
      for (const selector of selectors) expect(pods.some(({ labels }) => matches(selector, labels))).toBe(true);
      // A migration's pod must not receive requests.
      for (const { spec } of ofKind(objects, 'Service').filter(({ spec: one }) => one.clusterIP !== 'None'))
        expect(pods.filter(({ labels }) => matches(spec.selector, labels)).map(({ name }) => name)).toEqual([
          expect.stringMatching(/^watch-(recalld|quality)-api$/),
        ]);
      for (const { spec } of ofKind(objects, 'HorizontalPodAutoscaler'))
        expect(pods.map(({ name }) => name)).toContain(spec.scaleTargetRef.name);
    });

    it('leaves the number of replicas to the autoscaler, if there is one', () => {
      const scaled = new Set(ofKind(objects, 'HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name));
      for (const { metadata, spec } of ofKind(objects, 'Deployment'))
        expect({ name: metadata.name, has: spec.replicas !== undefined }).toEqual({
          name: metadata.name,
          has: !scaled.has(metadata.name),
        });
    });

    it('gives the daemon more time to stop than its shutdown may take', () => {
      const { server } = parseConfig('{}', 'recalld.yaml', {}, () => '');
      for (const { kind, spec } of pods) {
        if (kind === 'Job') continue;
        expect(spec['terminationGracePeriodSeconds']).toBeGreaterThan(
          values['shutdown'].delay + server.shutdown_seconds,
        );
      }
    });
  });

  describe('a network policy', () => {
    const rag = { podSelector: { matchLabels: { app: 'rag' } } };
    const monitoring = { namespaceSelector: { matchLabels: { name: 'monitoring' } } };

    /**
     * Returns the peers that any policy admits to a port of the role's pods; `everyone` if a policy names no peer.
     */
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
      return rules.some(({ from }) => from === undefined) ? 'everyone' : rules.flatMap(({ from }) => from as Tree[]);
    }

    it.each([
      ['with API callers admits only these callers to the API', 'api', 'http', { apiFrom: [rag] }, {}, [rag]],
      ['with API callers leaves the metrics of workers open', 'worker', 'http', { apiFrom: [rag] }, {}, 'everyone'],
      ['with scrapers leaves the API open', 'api', 'http', { metricsFrom: [monitoring] }, {}, 'everyone'],
      [
        'with scrapers admits only these scrapers to the metrics of workers',
        'worker',
        'http',
        { metricsFrom: [monitoring] },
        {},
        [monitoring],
      ],
      [
        'with callers and scrapers admits both to a shared port',
        'api',
        'http',
        { apiFrom: [rag], metricsFrom: [monitoring] },
        {},
        [rag, monitoring],
      ],
      [
        'with callers and scrapers admits only callers to a separate API port',
        'api',
        'http',
        { apiFrom: [rag], metricsFrom: [monitoring] },
        { metrics_port: 9321 },
        [rag],
      ],
      [
        'with callers and scrapers admits only scrapers to a separate metrics port',
        'api',
        'metrics',
        { apiFrom: [rag], metricsFrom: [monitoring] },
        { metrics_port: 9321 },
        [monitoring],
      ],
      [
        'with API callers leaves a separate metrics port open',
        'api',
        'metrics',
        { apiFrom: [rag] },
        { metrics_port: 9321 },
        'everyone',
      ],
      ['without peers admits everyone', 'api', 'http', {}, {}, 'everyone'],
    ] as const)('%s', (_, role, port, given, server, expected) => {
      expect(reach(role, port, given, server)).toEqual(expected);
    });
  });

  describe('the PrometheusRule', () => {
    it('keeps the template braces of the rules', () => {
      const enabled = { ...defaults, prometheusRule: { enabled: true, labels: {} } };
      const [rule] = ofKind(render(enabled), 'PrometheusRule');
      expect(rule?.['spec'].groups[0].rules[0].annotations.summary).toBe('{{ $labels.pipeline }} is down');
    });

    it('links to the console URL in the config', () => {
      const [rule] = ofKind(render(everything), 'PrometheusRule');
      expect(rule?.['spec'].groups[0].rules[0].annotations.runbook_url).toBe(
        'https://recalld.example.com/runbooks/Down',
      );
    });
  });

  it('has a ConfigMap for each dashboard', () => {
    const maps = ofKind(render(everything), 'ConfigMap').filter(
      ({ metadata }) => metadata.labels.grafana_dashboard === '1',
    );
    expect(maps.map(({ data }) => data)).toEqual([{ 'example.json': '{"title": "{{ pipeline }}"}\n' }]);
  });
}
