import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../../src/app/config/parse.ts';

const contract = readFileSync(path.resolve(import.meta.dirname, '../../../fixtures/config/contract.yaml'), 'utf8');
const parse = (text: string, env: Record<string, string>) => parseConfig(text, 'recalld.yaml', env, () => '');

describe('the config of the contract', () => {
  it('is valid as written, including an unquoted ${VAR} in a flow mapping', () => {
    const config = parse(contract, { OPENAI_API_KEY: 'sk-1' });
    expect(config.pipelines[0]).toMatchObject({
      name: 'support-docs',
      embedder: { api_key: 'sk-1' },
      retriever: { body: { query: '{{text}}', course: '{{tags.course}}', k: '{{k}}' } },
      golden: [{ set: 'support-faq', cron: '0 * * * *', cutoffs: [1, 3, 5, 10], max_per_second: 20 }],
      sampling: { rate: 0.1, max_per_minute: 600 },
    });
  });
});

it.each([
  'storage: {data_dir: ${V}}',
  'storage: {data_dir: ${V}, url: embedded}',
  'storage: {url: embedded, data_dir: ${V}} # why',
  'storage:\n  data_dir: ${V}\n',
  'storage:\n  data_dir: ${V} # why',
  'storage: {data_dir: "${V}"}',
])('substitutes the variable in %j unchanged, even if its value contains YAML syntax', (text) => {
  expect(parse(text, { V: 'folder #1, {odd}' }).storage.data_dir).toBe('folder #1, {odd}');
});
