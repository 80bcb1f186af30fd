import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { together } from '../../../bench/faults/fault.ts';
import { readKinds } from '../../../bench/faults/kinds.ts';
import type { Evaluation, IncidentRecord, WorldRecord } from '../../../bench/faults/record.ts';
import { createService } from '../../../bench/faults/service.ts';
import { materialOf, type Shape } from '../../../bench/faults/shape.ts';
import { readSplit, sealFile, sha256Of, splitFile, splitNames } from '../../../bench/faults/splits.ts';
import { summarise } from '../../../bench/faults/summary.ts';
import { randomNumbers } from '../../../bench/random-numbers.ts';

const shape: Shape = {
  corpus: 'limit-small',
  encoder: 'minilm',
  retriever: 'dense-rerank',
  store: 'pgvector',
  golden: 40,
  traffic: 60,
  rated: 0.5,
};

function incident(over: Partial<IncidentRecord>): IncidentRecord {
  return {
    opened_at: '2026-03-04T05:00:00Z',
    closed_at: null,
    severity: 'critical',
    diagnosed_at: '2026-03-04T05:00:00Z',
    cause: 'ranking',
    confidence: 'high',
    probability: 0.97,
    alternatives: [],
    also: [],
    alerts: [],
    causes: [],
    signs: [],
    effects: [],
    failed_share: null,
    summary: '',
    ...over,
  };
}

function world(over: Partial<WorldRecord>, ...reported: (Partial<IncidentRecord> | null)[]): WorldRecord {
  const evaluations = reported.map(
    (one, at): Evaluation => ({ run: at + 1, ndcg: 0.5, firing: [], incidents: one === null ? [] : [incident(one)] }),
  );
  return {
    id: 'one',
    shape,
    faults: [{ kind: 'shuffled-results', size: 'large', causes: ['ranking'] }],
    healthy: 0.8,
    drop: 0.3,
    incidentsBefore: 0,
    messagesBefore: 0,
    evaluations,
    messages: [],
    resolvedAfter: 1,
    firingAtEnd: [],
    failedJobs: [],
    seconds: 1,
    processSeconds: 1,
    ...over,
  };
}

describe('summary of the fault benchmark', () => {
  it('counts the diagnosis after every golden run by its confidence', () => {
    const { byConfidence } = summarise([
      world({}, { cause: 'filter' }, { confidence: 'medium', probability: 0.8 }, {}),
      world({}, { cause: 'unknown', confidence: 'low' }, null, {}),
    ]);
    expect(byConfidence).toEqual({
      high: { right: 2, of: 3 },
      medium: { right: 1, of: 1 },
      low: { right: 0, of: 0 },
    });
  });

  it('counts faults that are named within three runs separately from faults that are named at the end', () => {
    const { namedWithinThree, namedAtEnd, runsToRight, wrongWithHigh } = summarise([
      world({}, { cause: 'unknown' }, {}, { cause: 'filter' }),
      world({}, null, null, null),
    ]);
    expect(namedWithinThree).toEqual({ right: 1, of: 2 });
    expect(namedAtEnd).toEqual({ right: 0, of: 2 });
    expect(runsToRight).toEqual({ 2: 1 });
    expect(wrongWithHigh).toEqual({ right: 1, of: 2 });
  });

  it('counts the diagnosis "unknown" as right only for a fault without a known cause', () => {
    const nameless = { faults: [{ kind: 'duplicated-results', size: 'large', causes: ['unknown'] }] } as const;
    const summary = summarise([world(nameless, { cause: 'unknown' }), world({}, { cause: 'unknown' })]);
    expect(summary.namedAtEnd).toEqual({ right: 1, of: 2 });
    expect(summary.unknownAtEnd).toEqual({ right: 2, of: 2 });
  });

  it('requires a page within two runs only for drops of 0.05 or more', () => {
    const { pagedWithinTwo } = summarise([
      world({}, null, {}),
      world({}, { severity: 'warning' }, null, {}),
      world({ drop: 0.04 }, {}),
    ]);
    expect(pagedWithinTwo).toEqual({ right: 1, of: 2 });
  });

  it('counts a pair of faults as named if the main cause and the causes of other alerts name both faults', () => {
    const pair = {
      faults: [
        { kind: 'slow', size: 'large', causes: ['retriever_slow'] },
        { kind: 'shuffled-results', size: 'large', causes: ['ranking'] },
      ],
    } as const;
    const also = [{ cause: 'retriever_slow', confidence: 'low', probability: 0.4 }] as const;
    const { pairsBothNamed, pairsOneNamed } = summarise([world(pair, { also }), world(pair, {})]);
    expect(pairsBothNamed).toEqual({ right: 1, of: 2 });
    expect(pairsOneNamed).toEqual({ right: 2, of: 2 });
  });

  it('counts an incident in a fault-free world once, and excludes the resolution from messages after the repair', () => {
    const quiet = { faults: [{ kind: 'quiet', size: 'small', causes: [] }] } as const;
    const message = { severity: 'critical', summary: '', diagnosis: '', minutes: 200 };
    const messages = [
      { ...message, phase: 'fault', event: 'incident.opened' },
      { ...message, phase: 'recovery', event: 'incident.updated' },
      { ...message, phase: 'recovery', event: 'incident.closed' },
    ] as const;
    const summary = summarise([world(quiet, {}, {}), world(quiet, null, null), world({ messages }, {})]);
    expect(summary.quiet).toEqual({ worlds: 2, days: 0.2, incidents: 1, pages: 1 });
    expect(summary.messagesAfterRepair).toBe(1);
  });

  it('excludes worlds in which a job of the daemon failed', () => {
    const summary = summarise([world({ failedJobs: ['evaluate-checks'] }, { cause: 'filter' }), world({}, {})]);
    expect(summary).toMatchObject({ worlds: 1, disturbed: 1, namedAtEnd: { right: 1, of: 1 } });
  });

  it('compares stated probabilities with the share of right diagnoses', () => {
    const { calibration } = summarise([
      world({}, { probability: 0.96 }, { probability: 0.98, cause: 'filter' }, { probability: 0.6 }),
    ]);
    expect(calibration.filter(({ n }) => n > 0)).toEqual([
      { from: 0.5, n: 1, stated: 0.6, right: 1 },
      { from: 0.95, n: 2, stated: 0.97, right: 1 },
    ]);
  });
});

describe('splits of the fault benchmark', () => {
  it('keep the sealed test split unchanged', () => {
    const [hash] = readFileSync(sealFile, 'utf8').split(' ');
    expect(sha256Of(readFileSync(splitFile('test'), 'utf8'))).toBe(hash);
    expect(readFileSync(new URL('../../../bench/faults/README.md', import.meta.url), 'utf8')).toContain(hash);
  });

  it.each(splitNames)('name only kinds of fault that have a file: %s', async (name) => {
    const kinds = await readKinds();
    const used = readSplit(name).worlds.flatMap(({ faults }) => faults.map(({ kind }) => kind));
    expect(used.filter((kind) => !kinds.has(kind))).toEqual([]);
    expect(new Set(used).size).toBeGreaterThanOrEqual(name === 'quiet' ? 1 : 50);
  });

  it('have no world shape in common', () => {
    const [training = new Set<string>(), test = new Set<string>()] = splitNames.map(
      (name) => new Set(readSplit(name).worlds.map((one) => JSON.stringify(one.shape))),
    );
    expect([...training].filter((one) => test.has(one))).toEqual([]);
  });
});

describe('kinds of fault', () => {
  const material = materialOf(shape);
  const random = randomNumbers(1);
  const service = createService(material, { config: {}, fill: () => Promise.resolve() }, (queries) => {
    const [first] = queries;
    if (first === undefined) throw new Error('there are no queries');
    return first;
  });
  const ndcgUnder = async (name: string): Promise<number> => {
    const kind = (await readKinds()).get(name);
    if (kind === undefined) throw new Error(`there is no kind ${name}`);
    await service.change(together([kind.begin({ size: 'large', random, material })]), new Date(0));
    await service.passUntil(new Date(3_600_000));
    return service.trueNdcg();
  };

  it('lower the true score if documents are lost or the retriever is down, and keep it if nothing is wrong', async () => {
    const healthy = await ndcgUnder('quiet');
    expect(healthy).toBeGreaterThan(0.2);
    expect(await ndcgUnder('lost-at-random')).toBeLessThan(healthy - 0.05);
    expect(await ndcgUnder('lost-slowly')).toBeLessThan(healthy - 0.05);
    expect(await ndcgUnder('retriever-down')).toBe(0);
    expect(await ndcgUnder('traffic-level')).toBe(healthy);
  });

  it('keep the true score if users get the same texts under other ids', async () => {
    const healthy = await ndcgUnder('quiet');
    expect(await ndcgUnder('ids-renamed')).toBeCloseTo(healthy, 9);
    expect(await ndcgUnder('answer-ids-changed')).toBeCloseTo(healthy, 9);
    expect(await ndcgUnder('duplicated-results')).toBeLessThan(healthy);
  });

  it('return ids that the store lacks if the service searches an old index', async () => {
    const healthy = await ndcgUnder('quiet');
    expect(await ndcgUnder('alias-flipped-back')).toBeLessThan(healthy - 0.05);
    expect(service.rows()).toBe(material.rows);
    const stored = new Set(material.rows.map(({ id }) => id));
    const replies = material.golden.map(({ text }) => service.call({ text, k: 10, segments: {}, origin: 'golden' }));
    const ids = replies.flatMap((reply) => (reply.kind === 'hits' ? reply.hits.map(({ id }) => id) : []));
    expect(ids.some((id) => !stored.has(id))).toBe(true);
  });

  it('keep the golden score if only live queries or feedback change', async () => {
    const healthy = await ndcgUnder('quiet');
    const [query] = material.live;
    expect(service.drawLive().text).toBe(query?.text);
    expect(await ndcgUnder('history-prepended')).toBe(healthy);
    expect(service.drawLive().text.split('\n')).toHaveLength(7);
    expect(await ndcgUnder('thumbs-swapped')).toBe(healthy);
    expect(service.condition().opinion?.((found) => (found ? 0.9 : 0.3))(true)).toBeCloseTo(0.1, 9);
  });

  it('are both applied, in order, if two are combined', async () => {
    const kinds = await readKinds();
    const both = ['fewer-results', 'answer-ids-changed'].flatMap((name) => kinds.get(name) ?? []);
    await service.change(together(both.map((kind) => kind.begin({ size: 'large', random, material }))), new Date(0));
    const reply = service.call({ text: material.golden[0]?.text ?? '', k: 10, segments: {}, origin: 'golden' });
    expect(reply).toMatchObject({ kind: 'hits', hits: [{ id: expect.stringMatching(/^urn:doc:/) }] });
  });
});
