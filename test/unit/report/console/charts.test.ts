import { array, assert, double, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distributions } from '../../../../src/report/console/charts/distribution-chart.tsx';
import { markNumbers, plotSizes, trendGeometry } from '../../../../src/report/console/charts/trend-geometry.ts';
import { shownFrom } from '../../../../src/report/model/charts.ts';

const at = (hour: number) => new Date(Date.UTC(2026, 10, 20, hour));
const point = (hour: number, value: number) => ({ at: at(hour), value, low: value - 0.1, high: value + 0.1 });
const { full } = plotSizes;
const geometry = (series: readonly (readonly ReturnType<typeof point>[])[], isLog = false) =>
  trendGeometry({ isLog }, series, at(0), at(23), full);

describe('trendGeometry', () => {
  it('does not join points on both sides of a gap', () => {
    const { paths } = geometry([[point(0, 1), point(1, 1), point(2, 1), point(20, 1), point(21, 1)]]);
    expect(paths[0]?.line.match(/M/g)).toHaveLength(2);
  });

  it('keeps every value and its confidence interval inside the chart, with finite coordinates', () => {
    assert(
      property(array(double({ min: -1e6, max: 1e6, noNaN: true }), { maxLength: 20 }), (values) => {
        const points = values.map((value, hour) => point(hour, value));
        const { y, paths } = geometry([points]);
        expect(JSON.stringify(paths)).not.toMatch(/NaN|Infinity/);
        for (const { low, high } of points) {
          expect(y(high)).toBeGreaterThanOrEqual(full.top - 0.1);
          expect(y(low)).toBeLessThanOrEqual(full.height - full.bottom + 0.1);
        }
      }),
    );
  });

  it('labels powers of ten on a log axis, and keeps zero at its lower edge', () => {
    const { y, yTicks } = geometry([[point(0, 0), point(1, 20), point(2, 99_341)]], true);
    expect(yTicks).toEqual([1, 100, 10_000]);
    expect(y(0)).toBe(full.height - full.bottom);
    expect(y(100_000)).toBe(full.top);
  });
});

describe('shownFrom', () => {
  it('starts the axis shortly before the first value of a new installation', () => {
    expect(shownFrom(at(0), at(23), [point(22, 1), point(23, 1)])).toEqual(at(21));
    const minuteAgo = { ...point(23, 1), at: new Date(at(23).getTime() - 60_000) };
    expect(shownFrom(at(0), at(23), [minuteAgo])).toEqual(new Date(at(23).getTime() - 600_000));
  });

  it('shows the whole time range otherwise, even without a value', () => {
    expect(shownFrom(at(0), at(23), [point(3, 1), point(23, 1)])).toEqual(at(0));
    expect(shownFrom(at(0), at(23), [])).toEqual(at(0));
  });
});

it('groups the numbers of deployments that would overlap', () => {
  expect(markNumbers([100, 300, 320, 390, 600])).toEqual([
    { text: '1', place: 100 },
    { text: '2\u20134', place: 345 },
    { text: '5', place: 600 },
  ]);
});

describe('distributions', () => {
  it('normalizes both sets of values to shares that add up to 1', () => {
    const found = distributions([0.1, 0.2, 0.2, 0.9], { low: 0, high: 1, weights: [3, 0, 0, 9] }, 40);
    expect(found?.edges).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(found?.baseline).toEqual([0.75, 0, 0, 0.25]);
    expect(found?.current).toEqual([0.25, 0, 0, 0.75]);
  });

  it('returns null without a baseline and without queries', () => {
    expect(distributions(null, null, 40)).toBeNull();
    expect(distributions([0.5, 0.5], null, 2)?.baseline).toEqual([1, 0]);
  });
});
