import { describe, expect, it } from 'vitest';
import { topicsTable } from '../../../../src/density/topics-table.ts';
import { createIncidentActs } from '../../../../src/incidents/diagnosis/incident-acts.ts';
import { incidentJson } from '../../../../src/incidents/diagnosis/incident-schema.ts';
import { createIncidents, readDiagnosisGauges } from '../../../../src/incidents/diagnosis/incidents.ts';
import type { Alert, Diagnosis } from '../../../../src/incidents/diagnosis/rules/incident.ts';
import { aDiagnosis, anAlert, aWatchedPipeline } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { hours } from '../../../support/measurements.ts';
import { aTopic } from '../../../support/uncovered-topics.ts';

const database = useDatabase();
const incidents = () => createIncidents(database.pool);

let pipelines = 0;
const aPipeline = (): string => `diagnosed-${(pipelines += 1)}`;

const record = (
  pipeline: string,
  hour: number,
  said: Partial<Diagnosis> = {},
  firing: readonly Alert[] = [anAlert()],
) => incidents().record(firing, aDiagnosis({ pipeline, ...said }), hours(hour));

describe('incidents in PostgreSQL', () => {
  it('are opened once, however many replicas diagnose them', async () => {
    const pipeline = aPipeline();
    const stored = await Promise.all(Array.from({ length: 8 }, () => record(pipeline, 0)));
    expect(stored.filter((one) => one === 'opened')).toHaveLength(1);
    expect(stored.filter((one) => one === 'unchanged')).toHaveLength(7);
    expect(await incidents().list({ pipeline, limit: 10 })).toHaveLength(1);
  });

  it('are not opened by alerts on data from before the end of an incident that resolved less than two hours ago', async () => {
    const pipeline = aPipeline();
    const echo = [anAlert({ name: 'density drift', rule: 'RecalldDensityDriftTicket', severity: 'warning' })];
    expect(await incidents().isEcho(pipeline, echo, hours(2))).toBe(false);
    await record(pipeline, 0);
    await incidents().close(pipeline, hours(1));
    expect(await incidents().isEcho(pipeline, echo, hours(2))).toBe(true);
    expect(await incidents().isEcho(pipeline, [...echo, anAlert()], hours(2))).toBe(false);
    const feedback = (from: Date) =>
      anAlert({ name: 'feedback', rule: 'RecalldCheckWarning', severity: 'warning', from });
    expect(await incidents().isEcho(pipeline, [...echo, feedback(hours(0.5))], hours(1.5))).toBe(true);
    expect(await incidents().isEcho(pipeline, [...echo, feedback(hours(1))], hours(2))).toBe(false);
    expect(await incidents().isEcho(pipeline, echo, hours(4))).toBe(false);
  });

  it('are returned as they were stored', async () => {
    const pipeline = aPipeline();
    const said = aDiagnosis({
      pipeline,
      signs: [{ name: 'canary', state: 'changed', sentence: 'Fixed texts have other vectors.', from: null, n: null }],
    });
    const alert = anAlert();
    await incidents().record([alert], said, hours(0));
    const found = await incidents().current(pipeline);
    expect(found).toEqual({
      ...said,
      id: expect.any(String) as string,
      openedAt: hours(0),
      closedAt: null,
      closedBecause: null,
      severity: 'critical',
      confirmedAt: null,
      diagnosedAt: hours(0),
      earlier: [],
      acknowledgedAt: null,
      acknowledgedBy: null,
      mark: null,
      timeline: [
        {
          name: alert.name,
          rule: alert.rule,
          goldenSet: 'faq',
          severity: 'critical',
          currentSeverity: 'critical',
          openedAt: hours(0),
          endedAt: null,
          criticalAt: [hours(0)],
          worst: { at: hours(0), headline: alert.headline, text: alert.text, value: 1, threshold: 0.05 },
          recovered: null,
        },
      ],
    });
    expect(await incidents().find(found?.id ?? '')).toEqual(found);
  });

  it('keep every diagnosis with its time, and ignore older evaluations', async () => {
    const pipeline = aPipeline();
    await record(pipeline, 0, { cause: 'unknown', confidence: 'low' });
    expect(await record(pipeline, 2)).toBe('updated');
    expect(await record(pipeline, 1, { cause: 'recalld' })).toBe('outdated');
    expect(await record(pipeline, 3, { cause: 'index_lost_documents', runId: 'run-2' })).toBe('updated');
    expect(await incidents().current(pipeline)).toMatchObject({
      openedAt: hours(0),
      cause: 'index_lost_documents',
      diagnosedAt: hours(3),
      earlier: [
        { cause: 'retriever_outage', diagnosedAt: hours(2) },
        { cause: 'unknown', diagnosedAt: hours(0) },
      ],
    });
  });

  it('keep the evidence of each earlier diagnosis, and return it as JSON', async () => {
    const pipeline = aPipeline();
    const sentence = '5 of 100 golden queries failed.';
    const failures = { name: 'failures', state: 'some', sentence, from: null, n: null } as const;
    await record(pipeline, 0, {
      cause: 'unknown',
      confidence: 'low',
      probability: 0.4,
      signs: [failures],
      weighed: ['failures'],
      failedShare: 0.05,
      runId: 'run-1',
    });
    await record(pipeline, 2, { cause: 'recalld', runId: 'run-2', signs: [] });
    const found = await incidents().current(pipeline);
    if (found === null) throw new Error('the incident is not open');
    expect(incidentJson(found).earlier).toEqual([
      {
        diagnosed_at: hours(0).toISOString(),
        cause: 'unknown',
        confidence: 'low',
        probability: 0.4,
        summary: expect.any(String) as string,
        also: [],
        alerts: expect.any(Array) as string[],
        run_id: 'run-1',
        signs: [{ sign: 'failures', state: 'some', sentence, from: null, n: null, weighed: true }],
        effects: [],
        failed_share: 0.05,
      },
    ]);
  });

  it('keep their worst state while they recover and after they close', async () => {
    const pipeline = aPipeline();
    const failing = (value: number) => [anAlert({ value, text: `${100 * value} % failed.` })];
    await record(pipeline, 0, {}, failing(0.95));
    expect(await record(pipeline, 1, { runId: 'run-2', probability: 0.5 }, failing(0.2))).toBe('unchanged');
    await incidents().close(pipeline, hours(2));
    const [over] = await incidents().list({ pipeline, limit: 1 });
    expect(over).toMatchObject({
      probability: aDiagnosis().probability,
      runId: 'run-1',
      closedAt: hours(2),
      timeline: [{ worst: { at: hours(0), text: '95 % failed.' }, endedAt: hours(2), currentSeverity: null }],
    });
  });

  it('have the worst severity of any alert that fired', async () => {
    const pipeline = aPipeline();
    await record(pipeline, 0, {}, [anAlert({ severity: 'warning' })]);
    expect(await incidents().current(pipeline)).toMatchObject({ severity: 'warning' });
    await record(pipeline, 1);
    await record(pipeline, 2, {}, [anAlert({ severity: 'warning' })]);
    expect(await incidents().current(pipeline)).toMatchObject({ severity: 'critical' });
  });

  it('can be listed by the period during which they were open', async () => {
    const pipeline = aPipeline();
    await record(pipeline, 2);
    await incidents().close(pipeline, hours(4));
    await record(pipeline, 6);
    const during = async (from: number, until: number) =>
      (await incidents().list({ pipeline, during: { from: hours(from), until: hours(until) }, limit: 10 })).map(
        ({ openedAt }) => openedAt,
      );
    expect(await during(0, 1)).toEqual([]);
    expect(await during(1, 2)).toEqual([hours(2)]);
    expect(await during(3, 7)).toEqual([hours(6), hours(2)]);
    expect(await during(4, 5)).toEqual([]);
  });

  it('close when no alert fires, reopen as new incidents, and are deleted when old', async () => {
    const pipeline = aPipeline();
    await record(pipeline, 0);
    expect(await incidents().close(pipeline, hours(1))).toBe(true);
    expect(await incidents().close(pipeline, hours(2))).toBe(false);
    expect(await record(pipeline, 3)).toBe('opened');
    await incidents().prune(hours(2));
    const left = await incidents().list({ pipeline, limit: 10 });
    expect(left.map(({ openedAt }) => openedAt)).toEqual([hours(3)]);
    expect((await incidents().open()).map((one) => one.pipeline)).toContain(pipeline);
  });
});

describe('a topic in a stored diagnosis', () => {
  it('is shown by its current label, and by its id once the label is erased', async () => {
    const pipeline = aPipeline();
    const id = 't-0f44e5208c';
    const search = { pipeline, from: hours(-6), until: hours(0), baselineVersion: 1, sessions: 400, lacking: null };
    await topicsTable(database.pool).record(search, { seen: [aTopic({ id, pipeline })], parts: new Map() }, null);
    await record(pipeline, 0, { summary: `People ask about ${id}.` });
    const summary = async () => (await incidents().current(pipeline))?.summary;
    expect(await summary()).toBe('People ask about "parental leave".');
    await database.pool.query("update uncovered_topics set label = '{}' where id = $1", [id]);
    expect(await summary()).toBe(`People ask about ${id}.`);
  });
});

describe('the gauge of diagnoses', () => {
  it('names a cause from the second evaluation on, for configured pipelines, until the alert resolves', async () => {
    const pipeline = aPipeline();
    await record(pipeline, 0);
    await record(aPipeline(), 0);
    const read = async () =>
      (
        await readDiagnosisGauges(
          contextOf({ db: { incidents: incidents() }, pipelines: [aWatchedPipeline({ name: pipeline })] }),
        )
      )(hours(0));
    expect(await read()).toEqual([]);
    await record(pipeline, 1);
    expect(await read()).toEqual([
      {
        name: 'recalld_diagnosis_info',
        labels: { pipeline, cause: 'retriever_outage', confidence: 'high' },
        value: 1,
      },
    ]);
    await incidents().close(pipeline, hours(1));
    expect(await read()).toEqual([]);
  });
});

describe('actions of users on incidents', () => {
  const acts = () => createIncidentActs(database.pool);
  const ann = { name: 'ann', by: 'key ann (k1)' };
  const aClosedIncident = async (pipeline: string, said: Partial<Diagnosis>): Promise<string> => {
    await record(pipeline, 0, said);
    const id = (await incidents().current(pipeline))?.id ?? '';
    await incidents().close(pipeline, hours(1));
    return id;
  };

  it('record who acknowledged an incident last, and when', async () => {
    const pipeline = aPipeline();
    await record(pipeline, 0);
    const id = (await incidents().current(pipeline))?.id ?? '';
    expect(await acts().acknowledge(id, ann, hours(1))).toBe(true);
    expect(await incidents().find(id)).toMatchObject({ acknowledgedAt: hours(1), acknowledgedBy: 'ann' });
    await acts().acknowledge(id, { name: null, by: 'a user of this machine' }, hours(2));
    expect(await incidents().find(id)).toMatchObject({ acknowledgedAt: hours(2), acknowledgedBy: null });
    expect(await acts().acknowledge('999999', ann, hours(1))).toBe(false);
  });

  it('count by confidence how often marked causes were right, using the last mark of each incident', async () => {
    const pipeline = aPipeline();
    const marks = [true, true, false, true];
    for (const isRight of marks) {
      const id = await aClosedIncident(pipeline, { cause: 'ranking', confidence: 'high' });
      await acts().mark(id, { cause: 'ranking', isRight: !isRight, actualCause: null }, ann, hours(2));
      await acts().mark(id, { cause: 'ranking', isRight, actualCause: isRight ? null : 'filter' }, ann, hours(3));
      expect((await incidents().find(id))?.mark).toEqual({
        cause: 'ranking',
        confidence: 'high',
        isRight,
        actualCause: isRight ? null : 'filter',
        markedAt: hours(3),
        markedBy: 'ann',
      });
    }
    const unnamed = await aClosedIncident(pipeline, { cause: 'unknown', confidence: 'low' });
    await acts().mark(unnamed, { cause: 'unknown', isRight: false, actualCause: 'filter' }, ann, hours(2));
    const [high, medium, low] = await acts().reliability(pipeline);
    expect(high).toMatchObject({ confidence: 'high', marked: 4, right: 3, share: 0.75 });
    expect(high?.ciLow).toBeCloseTo(0.301, 3);
    expect(high?.ciHigh).toBeCloseTo(0.954, 3);
    expect([medium?.marked, low?.marked, low?.share]).toEqual([0, 0, null]);
  });

  it('mark only a cause with which the incident was diagnosed', async () => {
    const id = await aClosedIncident(aPipeline(), { cause: 'ranking' });
    const mark = { cause: 'filter', isRight: true, actualCause: null } as const;
    expect(await acts().mark(id, mark, ann, hours(2))).toBe(false);
    expect((await incidents().find(id))?.mark).toBeNull();
  });
});
