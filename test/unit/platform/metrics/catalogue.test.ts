import { describe, expect, it } from 'vitest';
import { labelValues } from '../../../../src/platform/metrics/catalogue.ts';
import { sourceFiles } from '../../../architecture/source-files.ts';

describe('a label value that rules may match on', () => {
  const code = sourceFiles('src')
    .filter(({ path }) => !path.startsWith('src/platform/metrics/'))
    .map(({ text }) => text)
    .join('\n');

  it.each(Object.entries(labelValues))('of %s is one that the code writes', (_, labels) => {
    const values = Object.values(labels).flat() as readonly string[];
    // As a text, or as the key of a table.
    expect(values.filter((value) => !new RegExp(`'${value}'|\\b${value}: `).test(code))).toEqual([]);
  });
});
