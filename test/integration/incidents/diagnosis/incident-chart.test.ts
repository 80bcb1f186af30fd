import { fastify } from 'fastify';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import { readIncidentChart } from '../../../../src/incidents/diagnosis/edge/incident-chart.ts';
import type { Alert, Incident } from '../../../../src/incidents/diagnosis/rules/incident.ts';
import { addIncidentCharts } from '../../../../src/incidents/notifications/edge/routes.ts';
import { chartPath } from '../../../../src/incidents/notifications/rules/message.ts';
import { trendImage } from '../../../../src/report/console/charts/trend-image.tsx';
import { aDiagnosis, anAlert, anAnswer } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, putRun } from '../../../support/golden-runs.ts';
import { aMeasurement, hours } from '../../../support/measurements.ts';

const database = useDatabase();

beforeEach(async () => {
  await database.pool.query('truncate golden_runs, golden_baselines, incidents, measurements, deployments cascade');
});

const context = () =>
  contextOf({ db: createDb(database.pool), intervalSeconds: () => 3600, hashKey: 'secret', hooks: { drawIncident } });

async function drawIncident(incident: Incident): Promise<Uint8Array | null> {
  const chart = await readIncidentChart(context(), incident, hours(3));
  return chart === null ? null : trendImage(chart);
}

async function anIncidentOf(alert: Partial<Alert>): Promise<Incident> {
  const { incidents } = createDb(database.pool);
  await incidents.record([anAlert(alert)], aDiagnosis({ pipeline: 'docs' }), hours(2));
  const found = await incidents.current('docs');
  if (found === null) throw new Error('it was just recorded');
  return found;
}

const coverage = { measured: { measure: 'query_uncovered_ratio', segment: 'all' }, threshold: 0.1, value: 0.3 };

async function measured(...values: readonly number[]): Promise<void> {
  await createDb(database.pool).measurements.record(
    values.map((value, hour) =>
      aMeasurement({
        pipeline: 'docs',
        measure: 'query_uncovered_ratio',
        segment: 'all',
        value,
        ciLow: 0,
        ciHigh: 1,
        windowStart: hours(hour - 1),
        windowEnd: hours(hour),
        measuredAt: hours(hour),
      }),
    ),
  );
}

describe('the chart of an incident', () => {
  it('shows a measure of traffic from before the onset, with the threshold and the onset', async () => {
    await measured(0.05, 0.06, 0.3);
    const chart = await readIncidentChart(context(), await anIncidentOf(coverage), hours(3));
    expect(chart?.series[0]?.points.map(({ value }) => value)).toEqual([0.05, 0.06, 0.3]);
    expect(chart?.levels).toMatchObject([{ value: 0.1, severity: expect.any(String) }]);
    expect(chart?.marks).toMatchObject([{ kind: 'onset', at: hours(2) }]);
    expect(chart?.from.getTime()).toBeLessThan(hours(-3).getTime());
  });

  it('shows the golden score of a regression at its cutoff, with the baseline and the limit below it', async () => {
    const { golden } = createDb(database.pool);
    const score = { segment: 'all', measure: 'ndcg', ciLow: 0, ciHigh: 1, ciMethod: 't', n: 10 } as const;
    for (const [hour, mean] of [0.8, 0.81, 0.5].entries()) {
      const scores = [5, 10].map((k) => ({ ...score, k, mean: k === 5 ? mean : 0.99 }));
      const end = anEnd({ status: 'completed', finishedAt: hours(hour), scores, checks: [] });
      await putRun(
        golden,
        { id: `run-${hour}`, pipeline: 'docs', goldenSet: 'faq', startedAt: hours(hour) },
        { answers: [anAnswer()], end },
      );
    }
    const alert = {
      measured: { measure: 'ndcg@5', segment: 'golden_set=faq' },
      value: -0.3,
      threshold: -0.02,
      comparedWith: 'run-0',
    };
    const chart = await readIncidentChart(context(), await anIncidentOf(alert), hours(3));
    expect(chart?.title).toBe('nDCG@5 on faq');
    expect(chart?.series[0]?.points.map(({ value }) => value)).toEqual([0.8, 0.81, 0.5]);
    expect(chart?.levels?.map(({ value }) => value)).toEqual([0.8, expect.closeTo(0.78)]);
  });

  it('is absent for an alert without a measure, and for a period without a value', async () => {
    const silent = await anIncidentOf(coverage);
    expect(await readIncidentChart(context(), silent, hours(3))).toBeNull();
    expect(await readIncidentChart(context(), { ...silent, timeline: [] }, hours(3))).toBeNull();
  });
});

describe('the link to the chart of an incident', () => {
  it('returns the image to anyone who has the link, and rejects guessed links', async () => {
    await measured(0.05, 0.06, 0.3);
    const { id } = await anIncidentOf(coverage);
    const app = fastify();
    onTestFinished(() => app.close());
    addIncidentCharts(app, context());
    const found = await app.inject(chartPath(id, 'secret'));
    expect(found.statusCode).toBe(200);
    expect(found.headers['content-type']).toBe('image/png');
    // The width in the PNG header is large enough that the chart is legible at half size.
    expect(found.rawPayload.readUInt32BE(16)).toBeGreaterThan(1000);
    for (const guess of [chartPath(id, 'another secret'), chartPath('999999', 'secret'), `/charts/${id}.png`])
      expect((await app.inject(guess)).statusCode).not.toBe(200);
  });
});
