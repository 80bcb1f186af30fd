import { describe, expect, it } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import type { Retriever } from '../../../../src/connectors/retrievers/retriever.ts';
import { areWordsDue, IGNORED_ENDING, removeWords } from '../../../../src/incidents/diagnosis/remove-words.ts';
import {
  aGoldenQuery,
  aNewGoldenSet,
  anAlert,
  anAnswer,
  aWatchedPipeline,
  documents,
  NOON,
} from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, putRun } from '../../../support/golden-runs.ts';
import { hurriedClock } from '../../../support/hurried-clock.ts';
import { hours } from '../../../support/measurements.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';

const database = useDatabase();
const never = new AbortController().signal;
const drop = anAlert({ rule: 'RecalldCheckCritical', goldenSet: 'faq' });
const texts = Array.from({ length: 10 }, (_, n) => `which city${n} has river${n} and bridge${n}`);
const search = (text: string): string[] =>
  text
    .split(' ')
    .toReversed()
    .map((word) => `about-${word}`);
let pipelines = 0;

/** Compares two runs of a golden set: the good run has the results of `search`, and the bad run those of `retrieve`. */
async function measured(retrieve: (text: string) => readonly string[], answer?: Retriever['retrieve']) {
  const pipeline = `words-${(pipelines += 1)}`;
  const db = createDb(database.pool);
  const asked: unknown[] = [];
  const queries = texts.map((text, n) => aGoldenQuery({ id: `q${n}`, text, tags: { tenant: 'acme' } }));
  await db.golden.sets.add(aNewGoldenSet({ name: pipeline, contentHash: pipeline, queries }), NOON);
  const runOf = (name: string, hour: number, find: (text: string) => readonly string[]) =>
    putRun(
      db.golden,
      { id: `${pipeline}-${name}`, pipeline, goldenSet: pipeline, startedAt: hours(hour) },
      {
        answers: queries.map(({ id, text }) => anAnswer({ queryId: id, documents: documents(...find(text)) })),
        end: anEnd({ finishedAt: hours(hour), scores: [], checks: [] }),
      },
    );
  const [good, bad] = [await runOf('good', -2, search), await runOf('bad', -1, retrieve)];
  const ask: Retriever['retrieve'] = async ({ text, k, tags }) => {
    asked.push({ k, tags });
    return { kind: 'documents', documents: documents(...retrieve(text)), latencyMs: 5, attempts: 1 };
  };
  const watched = aWatchedPipeline({ name: pipeline, retriever: { retrieve: answer ?? ask } });
  const clock = { ...hurriedClock(1), now: () => NOON };
  const context = contextOf({ db, clock, holder: 'me', logger: new MemoryLogger() });
  await removeWords(context, watched, bad, good, never);
  const latest = (await db.measurements.latest(NOON)).filter((one) => one.pipeline === pipeline);
  const { newest = null, gap = null } = latest.find(({ measure }) => measure === IGNORED_ENDING) ?? {};
  return { asked, latest, newest, gap };
}

describe('golden queries without one of their words', () => {
  it('show that the retriever truncates queries', async () => {
    const { asked, newest } = await measured((text) => [...search(text.slice(0, 12)), 'x', 'y', 'z']);
    expect(newest).toMatchObject({ value: 1, n: 8, ciLow: expect.closeTo(0.68, 2), details: { changed: 8 } });
    expect(asked).toHaveLength(8 * 8);
    expect(asked[0]).toEqual({ k: 10, tags: { tenant: 'acme' } });
  });

  it('are not measured if few results changed, or if the retriever fails', async () => {
    expect(await measured(search)).toMatchObject({ asked: [], newest: null, gap: { reason: 'few_changed_results' } });
    const failing: Retriever['retrieve'] = async () => {
      return { kind: 'error', code: 'http_503', message: 'It returned 503.', latencyMs: 1, attempts: 1 };
    };
    const failed = await measured(() => ['other'], failing);
    expect(failed).toMatchObject({ newest: null, gap: { reason: 'retriever_failed' } });
  });

  it('are sent again after half an hour, but only while a golden set has an alert and the retriever responds', async () => {
    const { latest } = await measured(() => ['other']);
    const outage = anAlert({ rule: 'RecalldRetrieverNotAnswering', goldenSet: 'faq' });
    expect(areWordsDue([drop], latest, hours(0.4))).toBe(false);
    expect(areWordsDue([drop], latest, hours(0.5))).toBe(true);
    expect(areWordsDue([drop, outage], [], NOON)).toBe(false);
    expect(areWordsDue([anAlert({ goldenSet: null })], [], NOON)).toBe(false);
  });
});
