import { describe, expect, it } from 'vitest';
import { graph } from '../../../../src/platform/dashboards/panels.ts';

interface Built {
  readonly fieldConfig: {
    readonly defaults: {
      readonly custom: { readonly lineWidth: number; readonly axisSoftMax?: number };
    };
    readonly overrides: readonly {
      readonly matcher: { readonly options: string };
      readonly properties: readonly { readonly id: string; readonly value: { readonly fixedColor?: string } }[];
    }[];
  };
}

const build = (spec: Partial<Parameters<typeof graph>[0]> = {}): Built =>
  JSON.parse(
    JSON.stringify(
      graph({ title: 'Failed', description: 'd', unit: 'percentunit', width: 8, queries: [], ...spec }).build(),
    ),
  ) as Built;

/** Returns the color of a series: the color in the last override that matches the series name. */
function colorOf({ fieldConfig }: Built, series: string): string | undefined {
  return fieldConfig.overrides
    .filter(({ matcher: { options } }) => options.startsWith('/') && new RegExp(options.slice(1, -1)).test(series))
    .flatMap(({ properties }) => properties.filter(({ id }) => id === 'color'))
    .at(-1)?.value.fixedColor;
}

describe('a graph', () => {
  it('ends an axis that starts at 0 at a small value if all values are 0', () => {
    expect(build({ min: 0 }).fieldConfig.defaults.custom.axisSoftMax).toBe(0.01);
    expect(build({ min: 0, max: 1 }).fieldConfig.defaults.custom.axisSoftMax).toBeUndefined();
    expect(build().fieldConfig.defaults.custom.axisSoftMax).toBeUndefined();
  });

  it('draws the threshold of a warning in orange and other thresholds in red', () => {
    expect(colorOf(build(), 'threshold: stale labels above 0.02 (warning)')).toBe('orange');
    expect(colorOf(build(), 'threshold: ndcg@10 below 0.7 (critical)')).toBe('red');
    expect(colorOf(build(), 'threshold')).toBe('red');
  });

  it('colors outcomes by their meaning, and draws stacked areas without lines', () => {
    const outcomes = build({ hasOutcomes: true, isStacked: true });
    expect(['ok', 'error', 'timeout', 'dead'].map((name) => colorOf(outcomes, name))).toEqual([
      'green',
      'red',
      'orange',
      'dark-red',
    ]);
    expect(outcomes.fieldConfig.defaults.custom.lineWidth).toBe(0);
  });
});
