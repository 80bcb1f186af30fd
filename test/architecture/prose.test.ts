import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../src/app/config/parse.ts';
import { endpoints } from '../../src/app/http/openapi.ts';
import { RecalldError } from '../../src/core/errors.ts';
import { metricCatalogue } from '../../src/platform/metrics/catalogue.ts';
import type { MetricDefinition } from '../../src/platform/metrics/definition.ts';

const root = path.resolve(import.meta.dirname, '../..');

interface Page {
  /** Path from the repository root. */
  readonly file: string;
  readonly text: string;
}

const pages: readonly Page[] = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...['docs', 'deploy', 'examples', 'bench'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
].map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));

/** A page without its code blocks, which contain example output and other languages. */
const proseOf = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '');

/** The id of a heading in rendered Markdown. */
const anchorOf = (heading: string) =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

function anchorsIn(file: string): string[] {
  if (!file.endsWith('.md')) return [];
  const text = proseOf(readFileSync(file, 'utf8'));
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

function brokenLinks({ file, text }: Page): string[] {
  const targets = [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^[a-z]+:/i.test(target))
    .filter((target) => {
      const [to = '', anchor] = target.split('#');
      const found = to === '' ? path.join(root, file) : path.resolve(root, path.dirname(file), to);
      if (!existsSync(found)) return true;
      if (anchor === undefined) return false;
      return statSync(found).isDirectory() || !anchorsIn(found).includes(anchor);
    });
}

/** `recalld_golden_{mrr,ndcg}` means two names; braces at the end contain labels. */
function namesIn(word: string): string[] {
  const braces = /^(.*_)\{([a-z0-9_,]+)\}(.*)$/.exec(word);
  if (braces === null) return [word.replace(/\{.*$/, '')];
  const [, before = '', inner = '', after = ''] = braces;
  return inner.split(',').map((part) => `${before}${part}${after}`);
}

const series = new Set(
  Object.entries<MetricDefinition>(metricCatalogue).flatMap(([name, { type }]) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
);

/** Names that look like metrics but are not: test databases, roles, and recording rules for objectives. */
const notMetrics = /^recalld_(test_|slo_errors|owner|app|grafana)/;

/** Returns a sample value for a variable in an example, chosen by the variable's name. */
function valueOf(variable: string): string {
  if (/REDIS|QUEUE/.test(variable) && !variable.endsWith('PASSWORD')) return 'redis://127.0.0.1:6379';
  if (/WEBHOOK/.test(variable)) return 'https://127.0.0.1/hook';
  return /KEY|TOKEN|PASSWORD|SECRET/.test(variable) ? 'a value of an example' : 'postgres://127.0.0.1/rag';
}

/**
 * Returns the reasons why recalld would reject a YAML block as its config; an empty list if recalld accepts the block,
 * or if the block is not a config. Pipelines in the block need no retriever.
 */
function refusalOf(block: string, file: string): string[] {
  const tree: unknown = parse(block.replaceAll(/: (\$\{\w+\})/g, ': "$1"'));
  if (typeof tree !== 'object' || tree === null || !('pipelines' in tree) || !Array.isArray(tree.pipelines)) return [];
  const retriever = { kind: 'http', url: 'http://127.0.0.1/search', results: { list: 'results' } };
  const pipelines = tree.pipelines.map((part: object) => ({ retriever, ...part }));
  const variables = [...block.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, valueOf(name)]);
  try {
    parseConfig(stringify({ ...tree, pipelines }), file, Object.fromEntries(variables), () => 'value');
    return [];
  } catch (error) {
    if (!(error instanceof RecalldError)) throw error;
    return [error.message];
  }
}

describe('the documentation', () => {
  it.each(pages)('has no broken links: $file', (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });

  it('names only exported metrics', () => {
    const unknown = pages.flatMap(({ file, text }) =>
      [...text.matchAll(/\brecalld_[a-z0-9_]*(?:\{[a-z0-9_,]+\})?[a-z0-9_]*/g)]
        .flatMap(([word]) => namesIn(word))
        .filter((name) => !series.has(name) && !notMetrics.test(name))
        .map((name) => `${file}: ${name}`),
    );
    expect([...new Set(unknown)]).toEqual([]);
  });

  it('names only existing endpoints', () => {
    const served = endpoints.map(({ path: pattern }) => pattern.replaceAll(/\{[^}]+\}/g, '[^/]+'));
    // The two listed paths belong to services that recalld calls.
    const isServed = (name: string) =>
      ['/v1/rerank', '/v1/metrics'].includes(name) || served.some((pattern) => new RegExp(`^${pattern}$`).test(name));
    const unknown = pages.flatMap(({ file, text }) =>
      [...text.matchAll(/(?<![\w.}])\/v1\/[a-z][\w/{}-]*/g)]
        .map(([name]) => name.replace(/\/$/, ''))
        .filter((name) => !isServed(name))
        .map((name) => `${file}: ${name}`),
    );
    expect([...new Set(unknown)]).toEqual([]);
  });

  it('shows only valid configs', () => {
    const refused = pages.flatMap(({ file, text }) =>
      [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) => refusalOf(block, file)),
    );
    expect(refused).toEqual([]);
  });
});
