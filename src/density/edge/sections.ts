import { capitalized, compact, count, percentage, plural } from '../../core/format.ts';
import { countsOf, verdictWords } from '../../incidents/explain/answers.ts';
import { measuredPoints, type TrendLevel, type TrendMark } from '../../report/model/charts.ts';
import type { Content, ContentNode, Section, Table, Tone } from '../../report/model/content.ts';
import { measureChart } from '../../report/model/measures.ts';
import {
  age,
  ask,
  badge,
  code,
  empty,
  group,
  heading,
  lead,
  list,
  more,
  paragraph,
  quiet,
  section,
  sparkline,
  strong,
  styledParagraph,
  table,
  time,
  verbatim,
} from '../../report/model/show.ts';
import { type ReportedTopic, reportedMeasures, type WeeklyReport } from '../../report/status/weekly-report.ts';
import { describeJudgedRelevance, topicAdvice, type UncoveredTopic } from '../rules/uncovered-topic.ts';
import type { DensityEventKind, NewDensityEvent } from '../rules/watch-state.ts';
import type { ComplaintsReport, ExplainedComplaint } from './complaints-reads.ts';

export function topicsSection(
  topics: readonly ReportedTopic[],
  showsText: boolean,
  isWatched: boolean,
  title = 'Uncovered topics',
): Section {
  return section(
    'topics',
    title,
    { lead: 'Topics that the store covers poorly and that are more frequent than in the baseline, largest first.' },
    topics.length > 0
      ? list(
          'topics',
          topics.map((one) => topicContent(one, showsText)),
        )
      : empty(isWatched ? 'No uncovered topics.' : 'The search for topics starts once there is a baseline.'),
  );
}

const MAX_EXAMPLES = 5;

export function topicContent({ topic, windows, texts }: ReportedTopic, showsText: boolean): ContentNode {
  const name = showsText && topic.label.length > 0 ? topic.label.join(' ') : topic.id;
  const judged = describeJudgedRelevance(topic);
  const examples = showsText ? topic.examples.flatMap((id) => texts.get(id) ?? []).slice(0, MAX_EXAMPLES) : [];
  const content = [
    group(
      'topic-head',
      heading(3, verbatim(name)),
      badge(topic.state, topic.state === 'open' ? 'warning' : 'neutral'),
      quiet(
        topic.cause === 'lost_content' ? 'asked before' : 'new',
        ' · first seen ',
        time(topic.firstSeen),
        ', last ',
        age(topic.windowEnd),
        `, in ${plural(windows.length, 'window')}`,
      ),
    ),
    paragraph(
      strong(percentage(topic.trafficShare)),
      ` of the traffic (${percentage(topic.shareLow)} to ${percentage(topic.shareHigh)}), ${plural(topic.sessions, 'session')} in the latest window, ${compact(topic.excessPoints)} percentage ${compact(topic.excessPoints) === '1' ? 'point' : 'points'} above the baseline. The coverage of the topic's queries is ${percentage(topic.density)} of the baseline coverage.`,
    ),
    judged !== null && paragraph(judged),
    trendLine(windows.map(({ windowEnd: at, trafficShare: value }) => ({ at, value }))),
    paragraph(topicAdvice(topic)),
    group(
      'topic-parts',
      part(
        'Example queries',
        examples.map((text) => verbatim(text)),
        showsText
          ? 'The query texts are no longer stored.'
          : 'Texts are not shown because this pipeline has privacy.text: hash.',
      ),
      part(
        'Nearest chunks',
        topic.nearest.slice(0, MAX_EXAMPLES).map(([id, similarity]) => [code(id), ' ', quiet(compact(similarity))]),
      ),
      topic.lostChunks.length > 0 &&
        part(
          'Missing chunks',
          topic.lostChunks.slice(0, MAX_EXAMPLES).map((id) => code(id)),
        ),
      topic.segments.length > 0 &&
        part(
          'Segments',
          topic.segments.slice(0, MAX_EXAMPLES).map(([segment, share]) => [`${segment} `, quiet(percentage(share))]),
        ),
    ),
    draft(name, topic, examples),
    topic.note !== null && styledParagraph('quiet', 'Note: ', verbatim(topic.note)),
  ];
  return { kind: 'group', style: 'topic', label: name, content };
}

/** Outline of a new document about the topic, for the user to copy; null if there is no query text to show. */
function draft(name: string, { nearest }: UncoveredTopic, examples: readonly string[]): Content {
  if (examples.length === 0) return null;
  const related = nearest.slice(0, MAX_EXAMPLES).map(([id]) => `- ${id}`);
  const lines = [
    `# ${capitalized(name)}`,
    '',
    'Answer these questions:',
    ...examples.map((text) => `- ${text}`),
    ...(related.length === 0 ? [] : ['', 'Related chunks in the store that do not answer these queries:', ...related]),
  ];
  return more('Outline of a document to write', { kind: 'lines', text: lines.join('\n') });
}

function trendLine(points: readonly { readonly at: Date; readonly value: number }[]): Content {
  return points.length >= 2 && sparkline(points.map((point) => ({ ...point, low: null, high: null })));
}

function part(title: string, items: readonly Content[], none = ''): ContentNode {
  return group('side', heading(4, title), items.length > 0 ? list('plain', items) : styledParagraph('quiet', none));
}

const asInBaseline = (at: number): TrendLevel => ({ value: at, text: 'as in the baseline', severity: null });

export const densityLevels: Readonly<Record<string, readonly TrendLevel[]>> = {
  query_density: [asInBaseline(1)],
  query_uncovered_ratio: [asInBaseline(0.05)],
  density_page_evidence_ratio: [{ value: 1, text: 'page threshold', severity: 'critical' }],
};

const kinds: Record<DensityEventKind, readonly [text: string, tone: Tone]> = {
  page: ['page', 'critical'],
  ticket: ['ticket', 'warning'],
  resolve: ['resolved', 'ok'],
  reset: ['reset', 'neutral'],
  rebaseline: ['new baseline', 'neutral'],
};

export function eventTable(caption: string, events: readonly NewDensityEvent[]): Table {
  return table(caption, events, [
    ['Time (UTC)', ({ occurredAt }) => time(occurredAt)],
    ['Event', ({ kind }) => badge(...kinds[kind])],
    ['Description', ({ sentence }) => sentence],
  ]);
}

const MAX_EVENTS = 30;

export function densityPart({ density }: WeeklyReport, marks: readonly TrendMark[]): Section {
  const { series, events, isWatched } = density;
  if (!isWatched && events.length === 0 && series.query_density.length === 0) {
    return section(
      'density',
      'Density drift',
      {},
      empty('Query density is not monitored for this pipeline, or has no baseline yet.'),
    );
  }
  return section(
    'density',
    'Density drift',
    { lead: 'How well the store covers live queries, compared with a baseline of known traffic.' },
    group(
      'charts',
      reportedMeasures.map((measure) =>
        measureChart(measure, measuredPoints(series[measure]), {
          id: `density-${measure}`,
          marks,
          levels: densityLevels[measure] ?? [],
          limits: [0, null],
          empty: 'No window of live queries ended in this period.',
        }),
      ),
    ),
    events.length === 0
      ? lead('No alert fired or resolved in this period.')
      : eventTable('Events, newest first', events.slice(0, MAX_EVENTS)),
  );
}

/** @param report null if the user has not requested the search */
export function complaintsSection(report: ComplaintsReport | null, showsText: boolean): Section {
  return section(
    'complaints',
    'Topics with negative feedback',
    { lead: 'Topics that are more frequent in sessions with negative feedback than in others.' },
    report === null
      ? ask(
          'complaints',
          'Find topics',
          'Clusters the sampled queries of the last two weeks, and finds out why the retriever did not return documents that other users liked.',
        )
      : found(report, showsText),
  );
}

function found(report: ComplaintsReport, showsText: boolean): Content {
  const { found: compared, topics, days } = report;
  if (compared.kind === 'insufficient_data') {
    const whose = compared.of === 'negative' ? 'with negative feedback' : 'without negative feedback';
    return empty(
      `Not enough data: in the last ${days} days, ${plural(compared.have, 'session')} ${whose} had a query vector; at least ${compared.need} are required.`,
    );
  }
  const sessions = `${plural(compared.negative, 'session')} with negative feedback and ${count(compared.others)} without, in the last ${days} days`;
  if (topics.length === 0)
    return empty(`${sessions}: no topic is significantly more frequent in sessions with negative feedback.`);
  return [
    lead(`${sessions}.`),
    list(
      'topics',
      topics.map((one) => complaint(one, showsText)),
    ),
  ];
}

function complaint({ topic, why }: ExplainedComplaint, showsText: boolean): ContentNode {
  const { label, members, share, othersShare, sessions, days, failed, empty: answeredEmpty, shown, liked } = topic;
  const name = showsText && label.length > 0 ? label.join(' ') : (members[0] ?? '');
  const unanswered =
    failed + answeredEmpty === 0
      ? ''
      : ` Of its ${plural(members.length, 'query', 'queries')}, ${failed} failed and ${answeredEmpty} returned no documents.`;
  const content = [
    group('topic-head', heading(3, verbatim(name))),
    paragraph(
      strong(percentage(share.value)),
      ` of the sessions with negative feedback (${percentage(share.low)} to ${percentage(share.high)}), ${plural(sessions, 'session')}; ${percentage(othersShare)} of the others.${unanswered}`,
    ),
    trendLine(
      days.map(({ day, negative, sessions: own }) => ({ at: new Date(`${day}T12:00:00Z`), value: own / negative })),
    ),
    group(
      'topic-parts',
      part(
        'Example queries',
        shown.map(({ id, text }) => (showsText && text !== null ? verbatim(text) : code(id))),
      ),
      part(
        'Documents liked for similar queries',
        liked.map((document) => code(document)),
        'None, so the expected documents are unknown.',
      ),
      why !== null &&
        liked.length > 0 &&
        part(
          'Why they were not returned',
          [
            ...countsOf(why).map(([words, times]) => [`${words} `, quiet(plural(times, 'time'))]),
            ...why.map((one) => [code(one.document), `: ${verdictWords(one)}. ${one.evidence[0] ?? ''}`]),
          ],
          'The retriever returned the liked documents for the example queries.',
        ),
    ),
  ];
  return { kind: 'group', style: 'topic', label: name, content };
}
