/** Scores of judged live queries are sent as events on their spans. */
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { judgedScores } from '../../../src/judging/rules/judged-scores.ts';
import { readLogs } from '../../../src/live/otlp/extraction.ts';
import { contentOf } from '../../../src/live/otlp/parse.ts';
import { createOtlpEndpoint } from '../../../src/platform/metrics/otlp.ts';
import { useDatabase } from '../../support/database.ts';
import { documentOf, JudgingWorld } from '../../support/judging-world.ts';
import { attributesOf, decodeLogs, type LogRecord, startOtlpReceiver } from '../../support/otlp-receiver.ts';

const database = useDatabase();
let world: JudgingWorld;
beforeEach(async () => {
  world = await JudgingWorld.start(database.pool);
});
afterEach(() => world.close());

const hex = (value: number, digits: number): string => (value + 1).toString(16).padStart(digits, '0');
const traceOf = (i: number): string => hex(i, 32);

/** `count` queries that arrived as spans, then one with only a trace id, and one without a trace. */
function traced(count: number) {
  return world.samples(count + 2).map((one, i) => {
    if (i === count) return { ...one, traceId: traceOf(i) };
    return i > count ? one : { ...one, traceId: traceOf(i), id: `${traceOf(i)}-${hex(i, 16)}` };
  });
}

async function sendingTo(...answers: Parameters<typeof startOtlpReceiver>) {
  const receiver = await startOtlpReceiver(...answers);
  const config = { url: receiver.url, headers: {}, timeout_ms: 5000, retries: 0 };
  const otlp = createOtlpEndpoint(config, { version: '1.2.3', startedAt: world.clock.now() });
  onTestFinished(() => otlp.close());
  Object.assign(world.deps, { otlp, config: { metrics: { otlp: { send: ['evaluations'] } } } });
  return receiver;
}

const recordsOf = (bodies: readonly string[]): LogRecord[] => bodies.flatMap((body) => [...decodeLogs(body).records]);

const sent = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(evaluation_sent_at)::integer as count from judged_queries',
  );
  return rows[0]?.count ?? 0;
};

it('scores are sent once to the platform that has the trace, with grades and without text', async () => {
  const receiver = await sendingTo();
  const found = traced(20);
  const [empty] = world.samples(1, { outcome: 'empty', results: [] });
  if (empty === undefined) throw new Error('there is no sample');
  const none = { ...empty, id: 'none', sessionHash: 'none', unitHash: 0.99, traceId: traceOf(99) };
  await world.hourOf([...found, none]);
  await world.round();

  expect(receiver.paths).toEqual(['POST /otlp/v1/logs undefined']);
  expect(attributesOf(decodeLogs(receiver.bodies[0] ?? '').resource)).toMatchObject({ 'service.name': 'recalld' });
  const records = recordsOf(receiver.bodies);
  // 22 queries with four scores each: 20 that arrived as spans, one with only a trace id, and one without results.
  expect(records).toHaveLength(4 * 22);
  expect(new Set(records.map(({ eventName }) => eventName))).toEqual(new Set(['gen_ai.evaluation.result']));
  const of = (trace: string) => records.filter(({ traceId }) => traceId === trace);
  const [ndcg, , hit] = of(traceOf(3));
  const grades = [1, 2, 3].map((rank) => documentOf('question 3', rank).quality);
  const scores = judgedScores(grades, 3);
  expect(ndcg).toMatchObject({ spanId: hex(3, 16), timeUnixNano: `${world.clock.now().getTime()}000000` });
  expect(attributesOf(ndcg ?? { attributes: [] })).toEqual({
    'gen_ai.evaluation.name': 'ndcg@3',
    'gen_ai.evaluation.score.value': scores.ndcg,
    'gen_ai.evaluation.explanation': `Grades of the top documents, 0 to 3, in rank order: ${grades.join(', ')}.`,
    'annotation.annotator_kind': 'LLM',
    'recalld.pipeline': 'docs',
    'recalld.query_id': `${traceOf(3)}-${hex(3, 16)}`,
    'recalld.judge': expect.any(String) as string,
  });
  expect(attributesOf(hit ?? { attributes: [] })).toMatchObject({
    'gen_ai.evaluation.name': 'hit_rate@3',
    'gen_ai.evaluation.score.label': scores.hit_rate === 1 ? 'relevant' : 'not_relevant',
  });
  expect(of(traceOf(20))[0]).not.toHaveProperty('spanId');
  expect(attributesOf(of(traceOf(99))[0] ?? { attributes: [] })).toMatchObject({
    'gen_ai.evaluation.score.value': 0,
    'gen_ai.evaluation.explanation': 'The retriever returned no documents.',
    'annotation.annotator_kind': 'CODE',
  });
  expect(receiver.bodies.join('')).not.toMatch(/question|It says/);

  await world.round();
  expect(receiver.paths).toHaveLength(1);

  // Events that a collector sends back to recalld are not counted as user feedback.
  const body = Buffer.from(receiver.bodies[0] ?? '');
  const pipelines = [{ name: 'docs', serviceNames: [], segmentKeys: [], fieldKeys: [], tools: [] }];
  expect(readLogs(contentOf(body, 'application/json'), pipelines)).toMatchObject({ feedback: [], rejected: 0 });
});

it('scores are sent again in the next round after a failure, but not after a refusal', async () => {
  const refused = '{"partialSuccess": {"rejectedLogRecords": "4", "errorMessage": "no such trace"}}';
  const receiver = await sendingTo([503, '{}'], [200, refused]);
  await world.hourOf(traced(5));
  await world.round();
  expect(await sent()).toBe(0);
  await world.round();
  expect(recordsOf(receiver.bodies.slice(0, 1))).toEqual(recordsOf(receiver.bodies.slice(1)));
  expect(await sent()).toBe(6);
  await world.round();
  expect(receiver.bodies).toHaveLength(2);
  const outcomes = world.counted.filter(({ name }) => name === 'recalld_evaluation_requests_total');
  expect(outcomes.map(({ labels }) => labels['outcome'])).toEqual(['failed', 'refused']);
  const said = world.log.entries.filter(({ message }) => message === 'sending scores via OTLP failed');
  expect(said.map(({ fields }) => fields['reason'])).toEqual([
    expect.stringContaining('503'),
    'the receiver rejected 4 items: no such trace',
  ]);
});
