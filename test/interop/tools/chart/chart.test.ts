/**
 * Renders the chart with Helm, and validates the objects with kubeconform. RECALLD_TEST_RECORD=1 also replaces the
 * recording that `npm test` replays.
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { chartFiles, kubernetesRules } from '../../../../docs/build/chart-files.ts';
import { ruleFile } from '../../../../src/app/alerts/rule-file.ts';
import { goProgram } from '../go-modules.ts';
import { kubernetesSchemas } from './kubernetes-schemas.ts';
import { chartDigest, keyOf, readChartRecording, writeChartRecording } from './recording.ts';
import { copyChart, manifestsOf, objectsOf, runHelm, stubFiles } from './render.ts';
import { describeChart } from './suite.ts';
import { cases, defaults, everything, readChart, refused, type Tree } from './values.ts';

const helm = await goProgram('helm.sh/helm/v3/cmd/helm');
const kubeconform = await goProgram('github.com/yannh/kubeconform/cmd/kubeconform');
const schemas = await kubernetesSchemas();

const stubbed = copyChart(stubFiles);
const shipped = copyChart(Object.fromEntries(chartFiles().map((file) => [file.path, file.text])));
const chartVersion = (parse(readChart('Chart.yaml')) as { readonly version: string }).version;

const objects: Record<string, readonly Tree[]> = {};

afterAll(() => {
  for (const chart of [stubbed, shipped]) rmSync(path.dirname(chart), { recursive: true, force: true });
});

describe('rendered by Helm', () => {
  describeChart((values) => (objects[keyOf(values)] ??= objectsOf(manifestsOf(helm, stubbed, values))), chartVersion);
});

describe.each(cases)('the chart %s', (_, values) => {
  it('passes helm lint', () => {
    const { status, stdout } = runHelm(helm, ['lint', '--strict', shipped], values);
    expect({ status, stdout }).toMatchObject({ status: 0 });
  });

  it('has only fields that Kubernetes knows', () => {
    const ownResources = ['-skip', 'PrometheusRule,ServiceMonitor,PodMonitor'];
    const { status, stdout } = spawnSync(kubeconform, [...ownResources, '-schema-location', schemas], {
      input: manifestsOf(helm, shipped, values),
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  });
});

it('kubeconform rejects a field that Kubernetes does not know', () => {
  const manifests = manifestsOf(helm, shipped, defaults).replaceAll('replicas:', 'replicaz:');
  const { status, stdout } = spawnSync(kubeconform, ['-schema-location', schemas], {
    input: manifests,
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stdout).toContain('replicaz');
});

it.each(refused)('the chart rejects %s', (_, values) => {
  const { status, stderr } = runHelm(helm, ['template', 'watch', shipped], values);
  expect(status).toBe(1);
  expect(stderr).toContain("values don't meet the specifications of the schema");
});

it('the chart ships the rules with their template braces, and each dashboard', () => {
  const enabled = { ...everything, config: defaults['config'] };
  const rendered = objectsOf(manifestsOf(helm, shipped, enabled));
  expect(rendered.find(({ kind }) => kind === 'PrometheusRule')?.['spec']).toEqual(ruleFile(kubernetesRules));
  const data = rendered.filter(({ kind }) => kind === 'ConfigMap').flatMap(({ data: files }) => Object.keys(files));
  const dashboards = chartFiles().flatMap((file) => /dashboards\/(.*)/.exec(file.path)?.[1] ?? []);
  expect(data.filter((name) => name.endsWith('.json')).toSorted()).toEqual(dashboards.toSorted());
});

it.runIf(process.env['RECALLD_TEST_RECORD'] === '1')('the rendered objects are recorded', () => {
  const { stdout } = spawnSync(helm, ['version', '--short'], { encoding: 'utf8' });
  writeChartRecording({
    date: new Date().toISOString().slice(0, 10),
    version: /v([\d.]+)/.exec(stdout)?.[1] ?? 'unknown',
    chartVersion,
    chart: chartDigest(),
    objects,
  });
  expect(readChartRecording().objects).toEqual(objects);
});
