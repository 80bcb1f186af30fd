/** Section of the weekly report: scores of each golden set, their trends, and the quality of the judgments. */
import { count, plural } from '../../../core/format.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import type { Measure } from '../../../math/ir/metric-key.ts';
import type { TrendMark, TrendPoint } from '../../../report/model/charts.ts';
import type { Content, Fact, Section, Table } from '../../../report/model/content.ts';
import { bounded, empty, fact, missing, note, section, table, value } from '../../../report/model/show.ts';
import type { ReportedSet, WeeklyReport } from '../../../report/status/weekly-report.ts';
import type { SegmentScore } from '../../rules/run.ts';
import type { HistoricRun } from '../../sql/run-results.ts';
import { charted, goldenCharts } from './golden-page.ts';
import { verdictOf } from './run-sections.ts';

export function scoresPart({ sets }: WeeklyReport, marks: readonly TrendMark[]): readonly Section[] {
  if (sets.length > 0) return sets.map((set, index) => setScores(set, `scores-${index}`, marks));
  return [
    section('scores', 'Scores', {}, empty('This pipeline has no golden set, so its retrieval quality is unknown.')),
  ];
}

function setScores(set: ReportedSet, id: string, marks: readonly TrendMark[]): Section {
  const { goldenSet, runs, last, floors } = set;
  const completed = runs.filter(({ status }) => status === 'completed').length;
  const ended = runs.filter(({ status }) => status === 'void' || status === 'failed').length;
  const k = largestCutoff(last?.scores ?? []);
  return section(
    id,
    `Scores of ${goldenSet}${k === 0 ? '' : ` at ${k}`}`,
    {
      lead: `${plural(completed, 'run')} completed${ended === 0 ? '' : `, ${ended} void or failed`}. ${marks.length === 0 ? 'No deployments.' : 'Numbered lines show deployments.'}`,
    },
    last === null ? empty('No run completed in this period, so there are no scores.') : lastScores(set, last, k),
    goldenCharts(id, k, (measure) => pointsOf(runs, measure), floors, {
      marks,
      empty: 'No run completed in this period.',
    }),
  );
}

function lastScores({ goldenSet, runs }: ReportedSet, last: NonNullable<ReportedSet['last']>, k: number): Table {
  const first = runs.find(({ status }) => status === 'completed');
  const rows = charted.flatMap(({ measure, name }) => {
    const found = scoreOf(last.scores, measure, k);
    if (found === undefined) return [];
    const before = first?.scores.find((one) => one.measure === measure && one.k === k);
    const difference = last.baseline?.differences.find(
      ({ key, segment }) => segment === ALL_SEGMENT && key.measure === measure && key.k === k,
    );
    return [{ name, found, before, difference }];
  });
  return table(`Scores of ${goldenSet} at the end of the period`, rows, [
    ['Measure', ({ name }) => `${name}@${k}`],
    [
      'First run',
      ({ before }) => (before === undefined ? missing('none') : value(before.mean, 'score')),
      'minor number',
    ],
    ['Last run', ({ found }) => value(found.mean, 'score', found.ciLow, found.ciHigh), 'number'],
    [
      'Difference from the baseline',
      ({ difference }) =>
        difference === undefined
          ? missing(last.baseline === null ? 'no baseline' : 'not compared')
          : bounded({ ...difference, value: difference.difference }, 'difference'),
      'number',
    ],
    ['Verdict', ({ difference }) => difference !== undefined && verdictOf(difference.verdict)],
  ]);
}

export function headlineOf({ goldenSet, last }: ReportedSet): Fact {
  const k = largestCutoff(last?.scores ?? []);
  const found = scoreOf(last?.scores ?? [], 'ndcg', k);
  if (found === undefined) return fact(goldenSet, 'no score', 'no run completed');
  return fact(
    `${goldenSet}, nDCG@${k}`,
    value(found.mean, 'score', found.ciLow, found.ciHigh),
    plural(found.n, 'query', 'queries'),
  );
}

function largestCutoff(scores: readonly SegmentScore[]): number {
  return Math.max(0, ...scores.map(({ k }) => k));
}

function scoreOf(
  scores: readonly SegmentScore[],
  measure: SegmentScore['measure'],
  k: number,
): SegmentScore | undefined {
  return scores.find((one) => one.segment === ALL_SEGMENT && one.measure === measure && one.k === k);
}

/**
 * Returns the section of the weekly report that shows whether the golden sets are up to date and represent live
 * traffic.
 */
export function goldenHealthPart({ sets }: WeeklyReport): Section {
  return section(
    'golden-health',
    'Health of the golden sets',
    {
      lead: 'Missing documents: judged documents that are not in the store under their ids. A judgment is stale if its document is superseded (the text has another id) or listed as deleted in the manifest; a lost document has no replacement. Judged: share of the retrieved documents that have a judgment. Represents: share of live queries that have a similar golden query.',
    },
    sets.length === 0
      ? empty('This pipeline has no golden set.')
      : table('Golden sets of this pipeline', sets, [
          [
            'Golden set',
            ({ goldenSet, version }) => [
              goldenSet,
              version !== null &&
                note(`version ${version.version}${version.origin === 'generated' ? ', generated queries' : ''}`),
            ],
          ],
          ['Queries', ({ version }) => version?.queries ?? missing('none'), 'number'],
          ['Judgments', ({ version }) => version?.judgments ?? missing('none'), 'minor number'],
          ['Missing documents', missingDocuments, 'number'],
          ['Judged', judgedShare, 'number'],
          [
            'Represents',
            ({ representativeness }) =>
              representativeness === null ? missing('not measured') : bounded(representativeness, 'share'),
            'number',
          ],
        ]),
  );
}

function judgedShare({ last }: ReportedSet): Content {
  const unjudged = scoreOf(last?.scores ?? [], 'unjudged', largestCutoff(last?.scores ?? []));
  if (unjudged === undefined) return missing('no run');
  return value(1 - unjudged.mean, 'share', 1 - unjudged.ciHigh, 1 - unjudged.ciLow);
}

function missingDocuments({ last }: ReportedSet): Content {
  if (last === null) return missing('no run');
  const { probed, stale, deleted, lost, deadQueries, gap } = last.run.labels;
  if (probed === null || stale === null || lost === null) return missing(gap ?? 'unknown');
  const kinds = { superseded: stale - (deleted ?? 0), deleted: deleted ?? 0, lost };
  const parts = Object.entries(kinds).flatMap(([kind, n]) => (n === 0 ? [] : `${count(n)} ${kind}`));
  return [
    value(probed === 0 ? 0 : (stale + lost) / probed, 'share'),
    note(`${parts.length === 0 ? 'none' : parts.join(', ')} of ${count(probed)}`),
    deadQueries !== null && deadQueries > 0
      ? note(`${plural(deadQueries, 'query has', 'queries have')} only stale labels`)
      : false,
  ];
}

function pointsOf(runs: readonly HistoricRun[], measure: Measure): TrendPoint[] {
  return runs.flatMap(({ startedAt, scores }) => {
    const found = scores.find((one) => one.measure === measure);
    return found === undefined ? [] : [{ at: startedAt, value: found.mean, low: found.ciLow, high: found.ciHigh }];
  });
}
