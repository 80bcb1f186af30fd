/** Diagnosis of an incident: likely cause, confidence, evidence with links, and the first action. */
import { duration } from '../../../../core/format.ts';
import type { Verdict } from '../../../../core/model.ts';
import type { QueryView } from '../../../../golden/rules/listed-queries.ts';
import { incidentPath, pipelinePath, runPath, runQueries } from '../../../../report/console/links.ts';
import type { Content, ContentNode, Link, Table } from '../../../../report/model/content.ts';
import {
  link,
  list,
  more,
  note,
  paragraph,
  quiet,
  strong,
  styled,
  styledParagraph,
  table,
  time,
  tonedList,
  verdictBadge,
  why,
} from '../../../../report/model/show.ts';
import { ISOLATION_ALERT } from '../../firing-alerts.ts';
import { effectsText } from '../../rules/also-causes.ts';
import { type Cause, causeTexts, probabilityText, tellApart } from '../../rules/cause.ts';
import { type Diagnosis, type Incident, worstAlert } from '../../rules/incident.ts';
import { besideOf } from '../../rules/rank-causes.ts';
import type { Sign } from '../../rules/signs.ts';
import { hasStaleLabels, onRun, shownSigns } from './shown-signs.ts';

type Ranked = Incident['ranked'][number];

/**
 * `card` shows only the cause and the action. `brief` omits opposing evidence and other causes. `evidence` omits the
 * cause and the action, for a page that also shows the card.
 */
type Extent = 'full' | 'card' | 'brief' | 'evidence';

/** Maximum number of signs in a brief diagnosis. */
const MAX_IN_BRIEF = 2;
/** Minimum probability of a listed cause. */
const MIN_SHOWN = 0.01;

export function diagnosisPanel(incident: Incident, extent: Extent = 'full'): ContentNode {
  const { pipeline, id, alerts, openedAt, closedAt } = incident;
  const isCard = extent === 'card';
  const content: Content = [
    findings(incident, extent),
    !isCard && further(incident),
    !isCard &&
      extent !== 'evidence' &&
      styledParagraph(
        'quiet',
        closedAt === null ? 'Firing since ' : 'Fired from ',
        time(openedAt),
        closedAt !== null && [' to ', time(closedAt)],
        `: ${alerts.join('; ')}. `,
        link('Incident', incidentPath(id)),
      ),
    firstNote(incident),
    extent !== 'brief' && !isCard && others(incident),
  ];
  return { kind: 'group', style: 'diagnosis', label: `Diagnosis of ${pipeline}`, content };
}

/** States that the cause of a new incident may still change; null for other incidents. */
export function firstNote({ closedAt, confirmedAt }: Incident): Content {
  if (closedAt !== null || confirmedAt !== null) return null;
  return styledParagraph(
    'quiet',
    'This is the first diagnosis of the incident. The next diagnosis, within a minute, may correct the cause.',
  );
}

export function findings(diagnosis: Diagnosis, extent: Extent = 'full'): Content {
  const { cause, ranked, also } = diagnosis;
  const first = ranked.find((one) => one.cause === cause);
  const beside = besideOf(diagnosis);
  const supporting = first?.supporting ?? [];
  return [
    extent !== 'evidence' && [
      causeLine(diagnosis),
      beside === null
        ? paragraph(quiet('What to do: '), causeTexts[cause].action)
        : paragraph(tellApart(cause, beside.cause)),
      also.map(alsoLine),
    ],
    extent === 'brief'
      ? evidence(supporting.slice(0, MAX_IN_BRIEF), [], diagnosis)
      : extent !== 'card' && evidence(supporting, first?.opposing ?? [], diagnosis),
  ];
}

/** Names a further cause, which explains alerts that the first cause does not explain. */
export function alsoLine(one: Diagnosis['also'][number]): ContentNode {
  return styledParagraph(
    'cause',
    `Likely cause of ${effectsText(one)}: `,
    strong(causeTexts[one.cause].title),
    ' ',
    styled('confidence', `${one.confidence} confidence, ${probabilityText(one.probability)}`),
  );
}

export function causeLine(diagnosis: Diagnosis): ContentNode {
  const { cause, confidence, probability, ranked } = diagnosis;
  const beside = besideOf(diagnosis);
  if (cause === 'unknown') {
    const guesses = shownCauses(ranked, cause)
      .slice(0, 2)
      .map((one) => `${causeTexts[one.cause].title} (${probabilityText(one.probability)})`);
    return styledParagraph(
      'cause',
      strong('Cause unknown'),
      ': the evidence does not identify it.',
      guesses.length > 0 && ` Most likely: ${guesses.join(', ')}.`,
    );
  }
  return styledParagraph(
    'cause',
    'Likely cause: ',
    strong(causeTexts[cause].title),
    beside !== null && [' or ', strong(causeTexts[beside.cause].title)],
    ' ',
    styled(
      'confidence',
      `${confidence} confidence, ${probabilityText(probability)}`,
      beside !== null && ` and ${probabilityText(beside.probability)}`,
    ),
  );
}

function evidence(supporting: readonly Sign[], opposing: readonly Sign[], diagnosis: Diagnosis): Content {
  const signs = [...supporting, ...opposing];
  if (signs.length === 0) return null;
  return tonedList(
    'evidence',
    signs,
    (sign) => (supporting.includes(sign) ? 'for' : 'against'),
    ({ name, sentence }) => [sentence, ' ', shownSigns[name][1](diagnosis)],
  );
}

/** Returns a link to the queries, results or topics that show the incident; null if no page lists them. */
export function shownBy(incident: Incident): Link | null {
  const { id, pipeline, cause, timeline, runId } = incident;
  const worst = worstAlert(incident);
  if (worst?.rule === ISOLATION_ALERT)
    return link('Results that show the problem', pipelinePath(pipeline, 'traffic'), {}, 'isolation');
  if (cause === 'uncovered_topic') return link('Uncovered topics', pipelinePath(pipeline, 'density'), {}, 'topics');
  if (timeline.every(({ goldenSet }) => goldenSet === null))
    return worst?.measured?.measure.startsWith('live_') === true
      ? link('Queries that show the problem', incidentPath(id), {}, 'live-queries')
      : null;
  const view =
    outdatedJudgments.has(cause) && hasStaleLabels(incident)
      ? 'stale'
      : (viewsOfMeasures.get(worst?.measured?.measure) ?? 'regressed');
  return runId === null || view === 'none' ? null : onRun(view, 'Queries that show the problem')(incident);
}

const outdatedJudgments: ReadonlySet<Cause> = new Set(['corpus_changed', 'ids_renamed', 'golden_labels']);

/**
 * The list of queries that an incident links to, for each failing measure that is not a score. `none` for latencies,
 * which no list shows.
 */
const viewsOfMeasures = new Map<string | undefined, QueryView | 'none'>([
  ['retriever_error_ratio', 'failed'],
  ['retriever_latency_p95_seconds', 'none'],
]);

function further({ runId, referenceRunId, pipeline }: Incident): ContentNode {
  const beside =
    referenceRunId === null ? 'the failing run' : 'the failing run compared with the last good run, query by query';
  return paragraph(
    quiet('See also: '),
    runId === null
      ? link('golden runs', pipelinePath(pipeline, 'golden'), {}, 'runs')
      : runQueries(beside, runId, 'regressed', referenceRunId),
    ', ',
    referenceRunId !== null && [link('the good run', runPath(referenceRunId)), ', '],
    link('deployments', '/deployments', { pipeline }),
  );
}

export function others(diagnosis: Diagnosis): Content {
  const { ranked, cause, signs } = diagnosis;
  const shown = shownCauses(ranked, cause);
  if (shown.length === 0 && signs.length === 0) return null;
  return more(
    'Other causes and all evidence',
    shown.length > 0 &&
      list(
        'other-causes',
        shown.map((one) => [
          `${causeTexts[one.cause].title} `,
          quiet(probabilityText(one.probability)),
          evidence(one.supporting, one.opposing, diagnosis),
        ]),
      ),
    styledParagraph('quiet', 'All measured evidence:'),
    list(
      'signs',
      signs.map(({ sentence }) => sentence),
    ),
  );
}

function shownCauses(ranked: readonly Ranked[], but: Cause): Ranked[] {
  return ranked.filter(({ cause, probability }) => cause !== but && cause !== 'unknown' && probability >= MIN_SHOWN);
}

/** Shows the cause of firing alerts, or states that a failing pipeline has no diagnosis yet. */
export function diagnosisOf(state: Verdict, diagnosis: Incident | null): Content {
  if (diagnosis !== null) return diagnosisPanel(diagnosis, 'card');
  if (state !== 'critical' && state !== 'warning') return null;
  return styledParagraph(
    'quiet',
    'No diagnosis yet: recalld looks for causes every 15 seconds. The evidence comes from golden runs, live queries, query density, the store, the index and the embedder.',
  );
}

export function incidentTable(caption: string, incidents: readonly Incident[]): Table {
  return table(caption, incidents, [
    ['From (UTC)', ({ id, openedAt }) => link(time(openedAt), incidentPath(id))],
    [
      'Lasted',
      ({ openedAt, closedAt }) =>
        closedAt === null ? 'still open' : duration((closedAt.getTime() - openedAt.getTime()) / 1000),
      'number',
    ],
    ['Severity', ({ severity }) => verdictBadge(severity)],
    [
      'Likely cause',
      ({ cause, confidence, probability }) => [
        causeTexts[cause].title,
        note(`${confidence} confidence, ${probabilityText(probability)}`),
      ],
    ],
    ['Worst value', ({ timeline }) => timeline.map(({ worst }) => why(worst.text))],
  ]);
}
