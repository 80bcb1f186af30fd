import { describe, expect, it } from 'vitest';
import { type GaugeSample, type KeptGauges, sample } from '../../../../src/platform/metrics/meter.ts';
import { createStoredGaugesWriter } from '../../../../src/platform/metrics/prometheus.ts';

const ndcg = { pipeline: 'docs', golden_set: 'faq', segment: 'all', k: '10' };

/** Writes the gauges of several readings in sequence, and returns the text of each. */
function aWriter(onDropped: (name: GaugeSample['name']) => void = () => undefined) {
  const write = createStoredGaugesWriter(onDropped);
  return async (current: readonly GaugeSample[], kept: readonly KeptGauges[] = []): Promise<string> =>
    Buffer.concat(await write({ current, kept })).toString('utf8');
}

function seriesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

function shown(pipeline: string, value: number): string {
  return `recalld_golden_ndcg{pipeline="${pipeline}",golden_set="faq",segment="all",k="10"} ${value}`;
}

describe('stored gauges as text', () => {
  it('have their help and type, and only the last of two equal series', async () => {
    const text = await aWriter()([
      sample('recalld_golden_ndcg', ndcg, 0.5),
      sample('recalld_golden_ndcg', { ...ndcg }, 0.1 + 0.2),
    ]);
    expect(text).toMatch(/^# HELP recalld_golden_ndcg \S.*\n# TYPE recalld_golden_ndcg gauge$/m);
    expect(seriesOf(text)).toEqual([shown('docs', 0.1 + 0.2)]);
  });

  it('escape all characters that label values may contain', async () => {
    const segment = 'course=a "b" \\ c\nd';
    const text = await aWriter()([sample('recalld_golden_ndcg', { ...ndcg, segment }, 1)]);
    expect(seriesOf(text)[0]).toContain('segment="course=a \\"b\\" \\\\ c\\nd"');
  });

  it('yield to other work while there are many', async () => {
    const many = Array.from({ length: 20_000 }, (_, k) => sample('recalld_golden_ndcg', { ...ndcg, k: String(k) }, k));
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    const text = await aWriter()(many);
    clearInterval(timer);
    expect(seriesOf(text)).toHaveLength(20_000);
    expect(turns).toBeGreaterThan(0);
  });
});

describe('stored gauges', () => {
  const kept = (pipeline: string, value: number): KeptGauges => ({
    of: {},
    samples: () => [sample('recalld_golden_ndcg', { ...ndcg, pipeline }, value)],
  });

  it('are grouped with the other series of their metric', async () => {
    const text = await aWriter()(
      [sample('recalld_golden_ndcg', ndcg, 1), sample('recalld_golden_mrr', ndcg, 1)],
      [kept('wiki', 0.5), kept('blog', 0.25)],
    );
    const group = text.split('\n\n').find((lines) => lines.includes('TYPE recalld_golden_ndcg gauge'));
    expect(seriesOf(group ?? '')).toEqual([shown('docs', 1), shown('wiki', 0.5), shown('blog', 0.25)]);
    expect(text.match(/TYPE recalld_golden_ndcg gauge/g)).toHaveLength(1);
  });

  it('are computed once, disappear while they are omitted, and reappear', async () => {
    let asked = 0;
    const counted = { ...kept('wiki', 0.5), samples: () => ((asked += 1), kept('wiki', 0.5).samples()) };
    const write = aWriter();
    const readings = [[counted], [], [{ ...counted }], [kept('wiki', 0.75)]];
    const texts: string[][] = [];
    for (const reading of readings) texts.push(seriesOf(await write([], reading)));
    expect(texts).toEqual([[shown('wiki', 0.5)], [], [shown('wiki', 0.5)], [shown('wiki', 0.75)]]);
    expect(asked).toBe(1);
  });

  it('omit values that are not finite, and report them on each export', async () => {
    const dropped: string[] = [];
    const write = aWriter((name) => dropped.push(name));
    const broken = kept('wiki', Number.NaN);
    for (let reading = 0; reading < 2; reading++) expect(seriesOf(await write([], [broken]))).toEqual([]);
    expect(dropped).toEqual(['recalld_golden_ndcg', 'recalld_golden_ndcg']);
  });
});
