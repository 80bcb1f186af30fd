/** What is likely behind an alarm, how far to trust that, the evidence with where to see it, and what to do first. */

import { duration } from '../../../../core/format.ts';
import type { Verdict } from '../../../../core/model.ts';
import type { QueryView } from '../../../../golden/rules/listed-queries.ts';
import { Instant, Sentence, Table, VerdictBadge } from '../../../../report/console/components.tsx';
import {
  incidentPath,
  type PipelinePage,
  pipelinePath,
  runPath,
  runQueriesPath,
  type TimeRange,
  within,
} from '../../../../report/console/links.ts';
import { effectsText } from '../../rules/also-causes.ts';
import { type Cause, causeTexts, probabilityText, tellApart } from '../../rules/cause.ts';
import type { Incident } from '../../rules/incident.ts';
import { besideOf } from '../../rules/rank-causes.ts';
import type { Sign } from '../../rules/signs.ts';

type Ranked = Incident['ranked'][number];

interface DiagnosisProps {
  readonly diagnosis: Incident;
  readonly range: TimeRange;
  /** Leaves out what speaks against the cause, and the other causes. */
  readonly isBrief?: boolean;
  /** On the page of the incident itself, which needs no link to it. */
  readonly isRecord?: boolean;
}

/** Evidence that a brief diagnosis shows. */
const MAX_IN_BRIEF = 2;
/** A cause less likely than this is not worth a line. */
const MIN_SHOWN = 0.01;

export function DiagnosisPanel({ diagnosis, range, isBrief = false, isRecord = false }: DiagnosisProps) {
  const { cause, ranked, alarms, openedAt, closedAt, settledAt } = diagnosis;
  const first = ranked.find((one) => one.cause === cause);
  const beside = besideOf(diagnosis);
  const supporting = first?.supporting ?? [];
  const opposing = isBrief ? [] : (first?.opposing ?? []);
  return (
    <div class="diagnosis" role="group" aria-label={`Diagnosis of ${diagnosis.pipeline}`}>
      <CauseLine diagnosis={diagnosis} />
      <p>
        {beside === null ? <span class="of">What to do: </span> : null}
        <Sentence>{beside === null ? causeTexts[cause].action : tellApart(cause, beside.cause)}</Sentence>
      </p>
      {diagnosis.also.map((one) => (
        <p key={one.cause} class="cause">
          <span>Likely cause of {effectsText(one)}: </span>
          <strong>{causeTexts[one.cause].title}</strong>{' '}
          <span class="confidence">
            {one.confidence} confidence, {probabilityText(one.probability)}
          </span>
        </p>
      ))}
      <Evidence
        supporting={isBrief ? supporting.slice(0, MAX_IN_BRIEF) : supporting}
        opposing={opposing}
        diagnosis={diagnosis}
        range={range}
      />
      <Further diagnosis={diagnosis} range={range} />
      <p class="of">
        In alarm {closedAt === null ? 'since' : 'from'} <Instant at={openedAt} />
        {closedAt === null ? null : (
          <>
            {' to '}
            <Instant at={closedAt} />
          </>
        )}
        : {alarms.join('; ')}. {isRecord ? null : <a href={within(range, incidentPath(diagnosis.id))}>The record</a>}
      </p>
      {closedAt === null && settledAt === null ? (
        <p class="of">This is a first look; the next, within a minute, may correct it.</p>
      ) : null}
      {isBrief ? null : <Others diagnosis={diagnosis} range={range} />}
    </div>
  );
}

function CauseLine({ diagnosis }: Pick<DiagnosisProps, 'diagnosis'>) {
  const { cause, confidence, probability, ranked } = diagnosis;
  const beside = besideOf(diagnosis);
  if (cause !== 'unknown') {
    return (
      <p class="cause">
        <span>Likely cause: </span>
        <strong>{causeTexts[cause].title}</strong>
        {beside === null ? null : (
          <>
            {' or '}
            <strong>{causeTexts[beside.cause].title}</strong>
          </>
        )}{' '}
        <span class="confidence">
          {confidence} confidence, {probabilityText(probability)}
          {beside === null ? null : ` and ${probabilityText(beside.probability)}`}
        </span>
      </p>
    );
  }
  const guesses = shownCauses(ranked, cause).slice(0, 2);
  return (
    <p class="cause">
      <strong>Cause unknown</strong>: what was measured does not tell.
      {guesses.length === 0
        ? null
        : ` Likeliest: ${guesses.map((one) => `${causeTexts[one.cause].title} (${probabilityText(one.probability)})`).join(', ')}.`}
    </p>
  );
}

interface EvidenceProps extends Pick<DiagnosisProps, 'diagnosis' | 'range'> {
  readonly supporting: readonly Sign[];
  readonly opposing: readonly Sign[];
}

function Evidence({ supporting, opposing, diagnosis, range }: EvidenceProps) {
  if (supporting.length + opposing.length === 0) return null;
  const line = (side: 'for' | 'against', sign: Sign) => (
    <li key={sign.name} class={side}>
      <span class="unseen">{side === 'for' ? 'For it: ' : 'Against it: '}</span>
      <Sentence>{sign.sentence}</Sentence> <WhereSeen sign={sign} diagnosis={diagnosis} range={range} />
    </li>
  );
  return (
    <ul class="evidence">
      {supporting.map((sign) => line('for', sign))}
      {opposing.map((sign) => line('against', sign))}
    </ul>
  );
}

function WhereSeen({ sign, diagnosis, range }: Pick<DiagnosisProps, 'diagnosis' | 'range'> & { readonly sign: Sign }) {
  const { text, href } = places[sign.name];
  const address = href(diagnosis, range);
  return address === null ? null : <a href={address}>{text}</a>;
}

interface Place {
  readonly text: string;
  /** Null where there is no run to show it. */
  readonly href: (diagnosis: Incident, range: TimeRange) => string | null;
}

const onRun = (view: QueryView, text: string): Place => ({
  text,
  href: ({ runId, referenceRunId }, range) =>
    runId === null ? null : runQueriesPath(range, runId, view, referenceRunId),
});
const onPage = (page: PipelinePage, anchor: string, text: string): Place => ({
  text,
  href: ({ pipeline }, range) => `${within(range, pipelinePath(pipeline, page))}#${anchor}`,
});
const onPartOfRun = (anchor: string, text: string): Place => ({
  text,
  href: ({ runId }, range) => (runId === null ? null : `${within(range, runPath(runId))}#${anchor}`),
});
const regressed = onRun('regressed', 'Most regressed queries');
const measures = onPage('', 'measures', 'Latest measures');
const runs = onPage('golden', 'runs', 'Golden runs');
const changes: Place = {
  text: 'Deployments',
  href: ({ pipeline }, range) => within(range, '/deployments', { pipeline }),
};

/** Where a person sees what a sign says. */
const places: Record<Sign['name'], Place> = {
  failures: onRun('failed', 'Failed queries'),
  failure_kind: onRun('failed', 'Failed queries'),
  live_errors: measures,
  live_empty: measures,
  live_latency: measures,
  live_results: measures,
  feedback: onPage('traffic', 'feedback', 'Feedback'),
  top_query: measures,
  language: measures,
  live_relevance: measures,
  judge: measures,
  latency: onRun('worst', 'Queries of the run'),
  warming: onRun('worst', 'Queries of the run'),
  empty_answers: onRun('newly_empty', 'Newly empty queries'),
  answer_length: regressed,
  text_length: regressed,
  repeats: regressed,
  foreign_lists: regressed,
  score: regressed,
  results: regressed,
  those_left: regressed,
  order: regressed,
  documents: regressed,
  renamed: regressed,
  variety: regressed,
  again: regressed,
  older_answers: regressed,
  segment: regressed,
  query_kind: regressed,
  level: runs,
  opinions: measures,
  judged: onRun('worst', 'Queries of the run'),
  labels: onRun('stale', 'Queries with stale labels'),
  gone_documents: onRun('regressed', 'Most regressed queries'),
  forbidden: onPartOfRun('forbidden', 'Forbidden documents'),
  stage: onPartOfRun('stages', 'Loss by stage'),
  golden_set: runs,
  store_size: measures,
  ann_recall: measures,
  canary: measures,
  index_documents: onPage('index', 'missing', 'Index'),
  index_retrieval: onPage('index', 'unretrievable', 'Index'),
  index_leftovers: onPage('index', 'orphaned', 'Index'),
  index_arrivals: onPage('index', 'index', 'Index'),
  index_models: onPage('index', 'other_model', 'Index'),
  index_settings: changes,
  embedder: changes,
  deployment: changes,
  density: onPage('density', 'trend', 'Density'),
  topics: onPage('density', 'topics', 'Uncovered topics'),
  sentinel: runs,
  own_work: runs,
};

/** The run that was looked at, beside the good one; what changed around then. */
function Further({ diagnosis, range }: Pick<DiagnosisProps, 'diagnosis' | 'range'>) {
  const { runId, referenceRunId } = diagnosis;
  return (
    <p>
      <span class="of">Look further: </span>
      {runId === null ? (
        <>
          <a href={runs.href(diagnosis, range) ?? ''}>golden runs</a>
          {', '}
        </>
      ) : (
        <>
          <a href={runQueriesPath(range, runId, 'regressed', referenceRunId)}>
            {referenceRunId === null
              ? 'the run in alarm'
              : 'the run in alarm, query by query against the last good one'}
          </a>
          {', '}
        </>
      )}
      {referenceRunId === null ? null : (
        <>
          <a href={within(range, runPath(referenceRunId))}>the good run</a>
          {', '}
        </>
      )}
      <a href={within(range, '/deployments', { pipeline: diagnosis.pipeline })}>what was deployed</a>
    </p>
  );
}

function Others({ diagnosis, range }: Pick<DiagnosisProps, 'diagnosis' | 'range'>) {
  const others = shownCauses(diagnosis.ranked, diagnosis.cause);
  if (others.length === 0 && diagnosis.signs.length === 0) return null;
  return (
    <details class="more">
      <summary>Other causes, and everything that was read</summary>
      {others.length === 0 ? null : (
        <ol class="other-causes">
          {others.map((one) => (
            <li key={one.cause}>
              {causeTexts[one.cause].title} <span class="of">{probabilityText(one.probability)}</span>
              <Evidence supporting={one.supporting} opposing={one.opposing} diagnosis={diagnosis} range={range} />
            </li>
          ))}
        </ol>
      )}
      <p class="of">What was read; what was not measured is not here:</p>
      <ul class="signs">
        {diagnosis.signs.map((sign) => (
          <li key={sign.name}>
            <Sentence>{sign.sentence}</Sentence>
          </li>
        ))}
      </ul>
    </details>
  );
}

function shownCauses(ranked: readonly Ranked[], but: Cause): Ranked[] {
  return ranked.filter(({ cause, probability }) => cause !== but && cause !== 'unknown' && probability >= MIN_SHOWN);
}

/** The diagnosis where something is in alarm; why there is none where it could be missed; else nothing. */
export function DiagnosisOf({
  state,
  diagnosis,
  range,
  isBrief = false,
}: Pick<DiagnosisProps, 'range' | 'isBrief'> & {
  readonly state: Verdict;
  readonly diagnosis: Incident | null;
}) {
  if (diagnosis !== null) return <DiagnosisPanel diagnosis={diagnosis} range={range} isBrief={isBrief} />;
  if (state !== 'critical' && state !== 'warning') return null;
  return (
    <p class="of">
      No diagnosis: causes are looked for every 15 seconds, behind golden runs, query density, the index and the
      embedder.
    </p>
  );
}

/** Incidents with how bad they got, how long they took, and what was said last. */
interface IncidentTableProps {
  readonly caption: string;
  readonly incidents: readonly Incident[];
  readonly range: TimeRange;
}

export function IncidentTable({ caption, incidents, range }: IncidentTableProps) {
  return (
    <Table
      caption={caption}
      columns={[
        { title: 'From (UTC)' },
        { title: 'Lasted', isNumber: true },
        { title: 'Came to' },
        { title: 'Likely cause' },
        { title: 'At its worst' },
      ]}
      rows={incidents.map(({ id, openedAt, closedAt, severity, cause, confidence, probability, course }) => ({
        key: id,
        cells: [
          <a href={within(range, incidentPath(id))}>
            <Instant at={openedAt} />
          </a>,
          <span class="instant">
            {closedAt === null ? 'still open' : duration((closedAt.getTime() - openedAt.getTime()) / 1000)}
          </span>,
          <VerdictBadge verdict={severity} />,
          <>
            {causeTexts[cause].title}
            <span class="severity">
              {confidence} confidence, {probabilityText(probability)}
            </span>
          </>,
          <>
            {course.map(({ name, worst }) => (
              <span key={name} class="why">
                <Sentence>{worst.text}</Sentence>
              </span>
            ))}
          </>,
        ],
      }))}
    />
  );
}
