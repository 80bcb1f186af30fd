import { describe, expect, it } from 'vitest';
import { createThrottleLimits } from '../../../../src/connectors/throttle/limits.ts';
import { openThrottle } from '../../../../src/connectors/throttle/throttle.ts';
import { systemClock as clock } from '../../../../src/core/system-clock.ts';
import { askRetriever } from '../../../../src/golden/runs/ask-retriever.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { assertKnownTags } from '../../../../src/incidents/explain/answers.ts';
import { createExplainTurns } from '../../../../src/incidents/explain/explain-turns.ts';
import { lookForQuestion } from '../../../../src/incidents/explain/gather-evidence.ts';
import { aRunSettings, aSchedule, aWatchedPipeline, goldenQueries, NOON } from '../../../support/builders.ts';
import { never } from '../../../support/connectors.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { silentLogger as logger } from '../../../support/log.ts';
import { MemoryRetriever } from '../../../support/memory-retriever.ts';

const database = useDatabase();
const settings = aRunSettings({ concurrency: 4, maxPerSecond: 1000 });
const question = { text: 'why', tags: {}, k: 10 };
const noHubs = new Map<string, number>();

const context = () => contextOf({ db: { limits: createThrottleLimits(database.pool) }, clock, logger });

function aPipeline(name: string, retriever: MemoryRetriever, golden = [aSchedule({ settings })]) {
  return aWatchedPipeline({ name, retriever, golden });
}

function anEnd() {
  let reach = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return { reached, reach };
}

describe('explanations of one pipeline', () => {
  it('send the retriever at most as many concurrent calls as its golden config allows, even during a golden run', async () => {
    const retriever = new MemoryRetriever(clock, () => ['d1'], 20);
    const pipeline = aPipeline('asked by a run and by readers', retriever);
    const turns = createExplainTurns();
    const run = async () => {
      const asker = { ...settings, pipeline: pipeline.name, holder: 'a run', usualLatencyMs: null };
      const gate = await openThrottle(context(), asker);
      await askRetriever(retriever, clock, gate, goldenQueries(60), settings, () => undefined, never);
      await gate.close();
    };
    const explanations = Array.from({ length: 48 }, () =>
      turns.take(context(), pipeline, never, (throttled) => lookForQuestion(throttled, question, [], noHubs, never)),
    );
    await Promise.all([run(), ...explanations]);
    expect(retriever.asked).toHaveLength(60 + 2 * 48);
    expect(retriever.mostAtOnce).toBe(4);
  });

  it('respect the strictest rate limit among the golden sets of the pipeline', async () => {
    const retriever = new MemoryRetriever(clock, () => ['d1'], 1);
    const strict = aSchedule({ set: 'strict', settings: { ...settings, concurrency: 2, maxPerSecond: 50 } });
    const pipeline = aPipeline('of two sets', retriever, [aSchedule({ settings }), strict]);
    const turns = createExplainTurns();
    const startedAtMs = clock.monotonicMs();
    await Promise.all(
      Array.from({ length: 10 }, () =>
        turns.take(context(), pipeline, never, (throttled) => lookForQuestion(throttled, question, [], noHubs, never)),
      ),
    );
    const times = retriever.asked.map(({ atMs }) => atMs).toSorted((a, b) => a - b);
    expect(times).toHaveLength(20);
    expect(times.filter((time, turn) => time - startedAtMs < turn * 20 - 2)).toEqual([]);
    expect(retriever.mostAtOnce).toBeLessThanOrEqual(2);
  });

  it('are rejected if they wait too long, without affecting the others', async () => {
    const retriever = new MemoryRetriever(clock, () => ['d1'], 1);
    const one = aSchedule({ settings: { ...settings, concurrency: 1 } });
    const pipeline = aPipeline('taken', retriever, [one]);
    const turns = createExplainTurns(50);
    const end = anEnd();
    const held = turns.take(context(), pipeline, never, () => end.reached);
    const late = turns.take(context(), pipeline, never, (throttled) => throttled.retriever.retrieve(question, never));
    await expect(late).rejects.toMatchObject({ code: 'retriever_busy' });
    end.reach();
    await held;
    const next = turns.take(context(), pipeline, never, (throttled) => throttled.retriever.retrieve(question, never));
    await expect(next).resolves.toMatchObject({ kind: 'documents' });
  });

  it('end at once when the caller disconnects', async () => {
    const one = aSchedule({ settings: { ...settings, concurrency: 1 } });
    const pipeline = aPipeline('left', new MemoryRetriever(clock, () => ['d1'], 1), [one]);
    const turns = createExplainTurns();
    const disconnected = new AbortController();
    const end = anEnd();
    const held = turns.take(context(), pipeline, never, () => end.reached);
    const waiting = turns.take(context(), pipeline, disconnected.signal, async () => 'answered');
    disconnected.abort(new Error('the caller is gone'));
    await expect(waiting).rejects.toThrow('the caller is gone');
    end.reach();
    await held;
  });
});

describe('tags of a caller without the admin scope', () => {
  it('must all occur together on one golden query of the pipeline', async () => {
    const sets = createGoldenSets(database.pool);
    const queries = [
      { id: 'q1', text: 'a', tags: { tenant: 'a', timeline: 'intro' }, judgments: [{ documentId: 'd', grade: 1 }] },
      { id: 'q2', text: 'b', tags: { tenant: 'b' }, judgments: [{ documentId: 'd', grade: 1 }] },
    ];
    await sets.add({ name: 'tagged', contentHash: 'h', format: 'csv', queries }, NOON);
    await sets.add(
      {
        name: 'of another pipeline',
        contentHash: 'h',
        format: 'csv',
        queries: queries.slice(0, 1).map((query) => ({ ...query, tags: { tenant: 'c' } })),
      },
      NOON,
    );
    const pipelines = [aWatchedPipeline({ name: 'docs', golden: [aSchedule({ set: 'tagged' })] })];
    const use = (tags: Record<string, string>) =>
      assertKnownTags(contextOf({ pipelines, db: { golden: { sets } } }), 'docs', tags);
    await expect(use({})).resolves.toBeUndefined();
    await expect(use({ tenant: 'a', timeline: 'intro' })).resolves.toBeUndefined();
    await expect(use({ tenant: 'b' })).resolves.toBeUndefined();
    for (const tags of [
      { tenant: 'b', timeline: 'intro' },
      { tenant: 'c' },
      { tenant: '' },
      { role: 'admin' },
    ] as const)
      await expect(use(tags as Record<string, string>)).rejects.toMatchObject({ code: 'key_lacks_scope' });
  });
});
