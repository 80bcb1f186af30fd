import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml, stringify } from 'yaml';
import { branches, type JsonSchema } from '../../src/app/config/explain.ts';
import { configJsonSchema, parseConfig } from '../../src/app/config/parse.ts';
import { createPipelines } from '../../src/app/pipelines.ts';
import { isMapping } from '../../src/core/text/json.ts';
import { silentLogger } from '../support/log.ts';

const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/how-to/retrievers.md'), 'utf8');
const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text);

/** Parses an example as part of a complete config in which every environment variable is set. */
function configOf(example: string) {
  const parts: unknown = parseYaml(example);
  const pipeline = { retriever: { kind: 'http', url: 'http://rag/' }, ...(isMapping(parts) ? parts : {}) };
  const env = Object.fromEntries([...example.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, `value-${name}`]));
  if ('CHUNKS_URL' in env) env['CHUNKS_URL'] = 'postgres://reader@db/chunks';
  return parseConfig(stringify({ pipelines: [{ name: 'docs', ...pipeline }] }), 'recalld.yaml', env, () => '');
}

/** The kinds that a pipeline key may have. */
function kindsOf(schema: JsonSchema, key: string): string[] {
  return branches(schema).flatMap((form) => {
    const list = branches(isMapping(form.properties?.['pipelines']) ? form.properties['pipelines'] : {});
    return list
      .flatMap(({ items }) => (isMapping(items) ? branches(items) : []))
      .flatMap(({ properties = {} }) => (isMapping(properties[key]) ? branches(properties[key]) : []))
      .flatMap(({ properties = {} }) => {
        const kind = properties['kind'];
        return isMapping(kind) && typeof kind.const === 'string' ? [kind.const] : [];
      });
  });
}

describe('docs/how-to/retrievers.md', () => {
  it.each(examples.map((text) => [text]))('has only examples that are valid and can be built: %s', (text) => {
    // The certificate files do not exist here.
    const config = configOf(text.replace(/^ {2}tls:\n( {4}.*\n)+/m, ''));
    expect(() => configOf(text)).not.toThrow();
    expect(createPipelines(config, silentLogger)).toHaveLength(1);
  });

  it('has an example of every kind of retriever, embedder and reranker', () => {
    const retrievers = kindsOf(configJsonSchema(), 'retriever');
    const embedders = kindsOf(configJsonSchema(), 'embedder');
    expect([retrievers.length, embedders.length]).toEqual([6, 2]);
    expect(retrievers.filter((kind) => !page.includes(`retriever:\n  kind: ${kind}\n`))).toEqual([]);
    expect(embedders.filter((kind) => !page.includes(`\n  kind: ${kind}\n`))).toEqual([]);
    for (const kind of ['tei', 'cohere']) expect(page).toMatch(new RegExp(`reranker:\\n +kind: ${kind}\\n`));
  });
});
