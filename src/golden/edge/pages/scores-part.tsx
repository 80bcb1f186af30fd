/**
 * The scores of each golden set in a review, where they ended and how they moved; and what the stages of the retriever
 * kept and lost of the relevant documents of a run.
 */

import { compact, count, plural, score, signed } from '../../../core/format.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import { percent } from '../../../core/text/spelling.ts';
import type { Measure } from '../../../math/ir/metric-key.ts';
import { TrendChart, type TrendMark, type TrendPoint } from '../../../report/console/charts/trend-chart.tsx';
import {
  Badge,
  Bounded,
  Bounds,
  Empty,
  type Fact,
  Missing,
  Section,
  Table,
} from '../../../report/console/components.tsx';
import type { Review, ReviewedSet } from '../../../report/status/read-review.ts';
import { ANSWER, type MovedQuestions, type RunStages, type SegmentScore, type StageStep } from '../../rules/run.ts';
import type { HistoricRun } from '../../sql/run-results.ts';
import { charted } from './golden-page.tsx';
import { verdicts } from './tables.tsx';

interface ScoresPartProps {
  readonly review: Review;
  readonly marks: readonly TrendMark[];
}

export function ScoresPart({ review, marks }: ScoresPartProps) {
  const { sets } = review;
  if (sets.length === 0) {
    return (
      <Section id="scores" title="Scores">
        <Empty why="No golden set is measured on this pipeline, so nothing says how good its answers are." />
      </Section>
    );
  }
  return (
    <>
      {sets.map((set, index) => (
        <SetScores key={set.goldenSet} set={set} id={`scores-${index}`} review={review} marks={marks} />
      ))}
    </>
  );
}

function SetScores({
  set,
  id,
  review: { from, until },
  marks,
}: {
  readonly set: ReviewedSet;
  readonly id: string;
  readonly review: Review;
  readonly marks: readonly TrendMark[];
}) {
  const { goldenSet, runs, last, floors } = set;
  const completed = runs.filter(({ status }) => status === 'completed').length;
  const ended = runs.filter(({ status }) => status === 'void' || status === 'failed').length;
  const k = largestCutoff(last?.scores ?? []);
  return (
    <Section
      id={id}
      title={`Scores of ${goldenSet}${k === 0 ? '' : ` at ${k}`}`}
      lead={`${plural(completed, 'run')} completed${ended === 0 ? '' : `, ${ended} void or failed`}. ${marks.length === 0 ? 'Nothing was deployed.' : 'Numbered lines are deployments.'}`}
    >
      {last === null ? (
        <Empty why="No run completed in this time, so there is no score to review." />
      ) : (
        <LastScores set={set} last={last} k={k} />
      )}
      <div class="charts">
        {charted.map(({ measure, name }) => {
          const floor = floors.get(`${measure}@${k}`);
          return (
            <TrendChart
              key={measure}
              id={`${id}-${measure}`}
              title={`${name}${k === 0 ? '' : `@${k}`}`}
              from={from}
              until={until}
              series={[{ name, points: pointsOf(runs, measure) }]}
              marks={marks}
              levels={floor === undefined ? [] : [{ value: floor, text: `floor ${floor}`, isAlarm: true }]}
              limits={[0, 1]}
              show={score}
              empty="No run completed in this time."
            />
          );
        })}
      </div>
    </Section>
  );
}

function LastScores({
  set: { goldenSet, runs },
  last,
  k,
}: {
  readonly set: ReviewedSet;
  readonly last: NonNullable<ReviewedSet['last']>;
  readonly k: number;
}) {
  const first = runs.find(({ status }) => status === 'completed');
  return (
    <Table
      caption={`Scores of ${goldenSet} at the end of the time`}
      columns={[
        { title: 'Measure' },
        { title: 'First run', isNumber: true, isMinor: true },
        { title: 'Last run', isNumber: true },
        { title: 'Last against the baseline', isNumber: true },
        { title: 'Reads as' },
      ]}
      rows={charted.flatMap(({ measure, name }) => {
        const found = scoreOf(last.scores, measure, k);
        if (found === undefined) return [];
        const before = first?.scores.find((one) => one.measure === measure && one.k === k);
        const difference = last.baseline?.differences.find(
          ({ key, segment }) => segment === ALL_SEGMENT && key.measure === measure && key.k === k,
        );
        return [
          {
            key: measure,
            cells: [
              `${name}@${k}`,
              before === undefined ? <Missing>none</Missing> : score(before.mean),
              <Bounded value={found.mean} low={found.ciLow} high={found.ciHigh} />,
              difference === undefined ? (
                <Missing>{last.baseline === null ? 'no baseline' : 'not compared'}</Missing>
              ) : (
                <span class="bounded">
                  <strong>{signed(difference.difference)}</strong>
                  <Bounds low={difference.ciLow} high={difference.ciHigh} show={signed} />
                </span>
              ),
              difference === undefined ? (
                ''
              ) : (
                <Badge tone={verdicts[difference.verdict].tone}>{verdicts[difference.verdict].text}</Badge>
              ),
            ],
          },
        ];
      })}
    />
  );
}

/** nDCG at the largest cut-off at the end of the time. */
export function headlineOf({ goldenSet, last }: ReviewedSet): Fact {
  const k = largestCutoff(last?.scores ?? []);
  const found = scoreOf(last?.scores ?? [], 'ndcg', k);
  if (found === undefined) return { name: goldenSet, value: 'no score', detail: 'no run completed' };
  return {
    name: `${goldenSet}, nDCG@${k}`,
    value: score(found.mean),
    detail: `${score(found.ciLow)} to ${score(found.ciHigh)}, ${plural(found.n, 'query', 'queries')}`,
  };
}

function largestCutoff(scores: readonly SegmentScore[]): number {
  return Math.max(0, ...scores.map(({ k }) => k));
}

/** Over all queries. */
function scoreOf(
  scores: readonly SegmentScore[],
  measure: SegmentScore['measure'],
  k: number,
): SegmentScore | undefined {
  return scores.find((one) => one.segment === ALL_SEGMENT && one.measure === measure && one.k === k);
}

/** Whether the golden sets of a review can be trusted to stand for what people ask. */
export function GoldenHealthPart({ review: { sets } }: { readonly review: Review }) {
  return (
    <Section
      id="golden-health"
      title="Health of the golden sets"
      lead="Stale labels are judged documents that left the store; judged is the share of what was retrieved that has a label; represents is the share of live queries with a golden query near by."
    >
      {sets.length === 0 ? (
        <Empty why="No golden set is measured on this pipeline." />
      ) : (
        <Table
          caption="Golden sets, and what their labels are worth"
          columns={[
            { title: 'Golden set' },
            { title: 'Queries', isNumber: true },
            { title: 'Judgments', isNumber: true, isMinor: true },
            { title: 'Stale labels', isNumber: true },
            { title: 'Judged', isNumber: true },
            { title: 'Represents', isNumber: true },
          ]}
          rows={sets.map((set) => ({ key: set.goldenSet, cells: cellsOf(set) }))}
        />
      )}
    </Section>
  );
}

function cellsOf({ goldenSet, version, last, representativeness }: ReviewedSet) {
  const unjudged = scoreOf(last?.scores ?? [], 'unjudged', largestCutoff(last?.scores ?? []));
  return [
    <>
      {goldenSet}
      {version === null ? null : (
        <span class="severity">
          version {version.version}
          {version.origin === 'generated' ? ', questions by a model' : ''}
        </span>
      )}
    </>,
    version === null ? <Missing>none</Missing> : count(version.queries),
    version === null ? <Missing>none</Missing> : count(version.judgments),
    <StaleLabels last={last} />,
    unjudged === undefined ? (
      <Missing>no run</Missing>
    ) : (
      <Bounded value={1 - unjudged.mean} low={1 - unjudged.ciHigh} high={1 - unjudged.ciLow} show={percent} />
    ),
    representativeness === null ? (
      <Missing>not measured</Missing>
    ) : (
      <Bounded
        value={representativeness.value}
        low={representativeness.ciLow}
        high={representativeness.ciHigh}
        show={percent}
      />
    ),
  ];
}

function StaleLabels({ last }: Pick<ReviewedSet, 'last'>) {
  if (last === null) return <Missing>no run</Missing>;
  const { probed, stale, lost, deadQueries, gap } = last.run.labels;
  if (probed === null || stale === null || lost === null) return <Missing>{gap === null ? 'unknown' : gap}</Missing>;
  const share = probed === 0 ? 0 : (stale + lost) / probed;
  return (
    <>
      <strong>{percent(share)}</strong>
      <span class="severity">
        {count(stale + lost)} of {count(probed)} gone, {count(lost)} lost
        {deadQueries === null || deadQueries === 0 ? '' : `; ${plural(deadQueries, 'query', 'queries')} lost all`}
      </span>
    </>
  );
}

export function StagesSection({ stages }: { readonly stages: RunStages }) {
  const { k, n, untold, steps } = stages;
  const left =
    untold === 0 ? '' : ` ${count(untold)} more were answered without a word of any stage, and are left out.`;
  return (
    <Section
      id="stages"
      title="Loss by stage"
      lead={`Where the relevant documents of ${plural(n, 'question')} stay: means of their shares with 95 % bounds, of the first ${k} of the answer and of all that earlier stages hand on. A question that failed loses all of its own.${left}`}
    >
      <LossBar stages={stages} />
      <Table
        caption="Stages of the retriever"
        columns={[
          { title: 'Stage' },
          { title: 'Holds', isNumber: true },
          { title: 'Loses', isNumber: true },
          { title: `Questions in and out of the first ${k}` },
          { title: 'Takes, p95', isNumber: true, isMinor: true },
        ]}
        rows={steps.map((step) => ({ key: step.name, cells: stageCells(step) }))}
      />
    </Section>
  );
}

const bounded = ({ mean, ciLow, ciHigh }: StageStep['recall']) => (
  <Bounded value={mean} low={ciLow} high={ciHigh} show={percent} />
);

function stageCells({ name, recall, lost, moved, latencyP95Ms }: StageStep) {
  return [
    name.replaceAll('_', ' '),
    bounded(recall),
    bounded(lost),
    moved === null ? <Missing>nothing before it</Missing> : movedWords(moved),
    latencyP95Ms === null ? <Missing>not told</Missing> : `${compact(Math.round(latencyP95Ms))} ms`,
  ];
}

const share = (value: number) => `${value > 0 ? '+' : ''}${percent(value)}`;

function movedWords({ in: came, out: went, difference, ciLow, ciHigh, p }: MovedQuestions): string {
  return `${count(came)} in, ${count(went)} out: hit rate ${share(difference)} (${share(ciLow)} to ${share(ciHigh)}, p ${p < 0.001 ? 'below 0.001' : p.toFixed(3)})`;
}

interface Part {
  readonly name: string;
  readonly share: number;
  readonly tone: string;
}

/** What was found first, then what each stage lost, the last before the first. */
function partsOf({ steps, lostToFailures }: RunStages): Part[] {
  const answer = steps.find(({ name }) => name === ANSWER);
  const lost = steps.toReversed().map(({ name, lost: { mean } }, place): Part => {
    const isFirst = place === steps.length - 1;
    const words = name === ANSWER ? 'cut off or reordered away' : `lost by ${name.replaceAll('_', ' ')}`;
    return {
      name: isFirst ? `never in ${name.replaceAll('_', ' ')}` : words,
      share: mean,
      tone: `s${2 + (place % 3)}`,
    };
  });
  return [
    { name: 'found', share: answer?.recall.mean ?? 0, tone: 's1' },
    ...lost,
    { name: 'failed', share: lostToFailures.mean, tone: 'none' },
  ].filter(({ share }) => share > 0);
}

const WIDTH = 1000;
const HEIGHT = 28;
/** Narrower parts have no room for their share. */
const MIN_LABELLED = 0.06;

function LossBar({ stages }: { readonly stages: RunStages }) {
  const parts = partsOf(stages);
  const starts = parts.map((_, place) => parts.slice(0, place).reduce((sum, { share }) => sum + share, 0));
  const told = parts.map(({ name, share }) => `${name} ${percent(share)}`).join(', ');
  return (
    <figure class="chart">
      <figcaption>
        Relevant documents
        <span class="legend">
          {parts.map(({ name, share, tone }) => (
            <span key={name} class={`key ${tone}`}>
              {name} {percent(share)}
            </span>
          ))}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby="loss-bar">
        <title id="loss-bar">{told}</title>
        {parts.map(({ name, share, tone }, place) => {
          const x = (starts[place] ?? 0) * WIDTH;
          return (
            <g key={name} class={`bars ${tone}`}>
              <rect x={round(x)} y={0} width={round(share * WIDTH)} height={HEIGHT}>
                <title>{`${name}: ${percent(share)}`}</title>
              </rect>
              {share < MIN_LABELLED ? null : (
                <text x={round(x + 8)} y={HEIGHT - 9}>
                  {percent(share)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Values of completed runs, oldest first. */
function pointsOf(runs: readonly HistoricRun[], measure: Measure): TrendPoint[] {
  return runs.flatMap(({ startedAt, scores }) => {
    const found = scores.find((one) => one.measure === measure);
    return found === undefined ? [] : [{ at: startedAt, value: found.mean, low: found.ciLow, high: found.ciHigh }];
  });
}
