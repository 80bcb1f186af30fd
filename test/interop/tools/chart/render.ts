/** Renders the chart with Helm. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { workshop } from '../../virtual-environment.ts';
import { chartFolder, type Tree } from './values.ts';

/** Version of Kubernetes to render for. A Helm that `go install` builds would otherwise assume Kubernetes 1.20. */
const KUBERNETES = '1.37.0';

/**
 * Files that replace the chart's rules and dashboards in recordings, because the originals are generated and change
 * often.
 */
export const stubFiles: Readonly<Record<string, string>> = {
  'files/rules.yaml': rules(''),
  'files/rules-with-links.yaml': rules('https://console.invalid/runbooks/Down'),
  'files/dashboards/example.json': '{"title": "{{ pipeline }}"}',
};

function rules(runbook: string): string {
  const annotations = { summary: '{{ $labels.pipeline }} is down', runbook_url: runbook };
  return JSON.stringify({ groups: [{ name: 'recalld', rules: [{ alert: 'Down', expr: 'up == 0', annotations }] }] });
}

/** Returns the folder with a copy of the chart that contains these files. */
export function copyChart(files: Readonly<Record<string, string>>): string {
  mkdirSync(workshop, { recursive: true });
  const copy = path.join(mkdtempSync(path.join(workshop, 'chart-')), 'recalld');
  cpSync(chartFolder, copy, { recursive: true });
  rmSync(path.join(copy, 'files'), { recursive: true, force: true });
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(copy, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return copy;
}

/** Runs Helm with these values on standard input. */
export function runHelm(helm: string, args: readonly string[], values: Tree) {
  return spawnSync(helm, [...args, '--kube-version', KUBERNETES, '--values', '-'], {
    input: JSON.stringify(values),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
}

/** Returns the manifests as Helm writes them. */
export function manifestsOf(helm: string, chart: string, values: Tree): string {
  const { status, stdout, stderr } = runHelm(helm, ['template', 'watch', chart], values);
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

export function objectsOf(manifests: string): readonly Tree[] {
  return parseAllDocuments(manifests).flatMap((document) => {
    if (document.errors.length > 0) throw new Error(document.errors.join('; '));
    return (document.toJS() as Tree | null) ?? [];
  });
}
