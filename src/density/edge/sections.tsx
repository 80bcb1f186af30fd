/**
 * Topics that people ask about and the store does not cover, with what to add for them; and what people complain
 * about, looked for when somebody asks.
 */

import { compact, count, plural } from '../../core/format.ts';
import { percent } from '../../core/text/spelling.ts';
import { countsOf } from '../../incidents/explain/answers.ts';
import { shownMeasure } from '../../measures/shown-measures.ts';
import {
  measuredPoints,
  Sparkline,
  TrendChart,
  type TrendLevel,
  type TrendMark,
} from '../../report/console/charts/trend-chart.tsx';
import {
  Age,
  AskForm,
  agoOf,
  Badge,
  Empty,
  Instant,
  Section,
  Sentence,
  Table,
  type Tone,
} from '../../report/console/components.tsx';
import type { Frame } from '../../report/console/page.tsx';
import type { Review, ReviewedMeasure, ReviewedTopic } from '../../report/status/read-review.ts';
import { judgedInWords, topicAdvice } from '../rules/uncovered-topic.ts';
import type { DensityEventKind } from '../rules/watch-state.ts';
import { type ComplaintsReport, type ExplainedComplaint, lackingSentence } from './complaints-reads.ts';

interface TopicsProps {
  readonly topics: readonly ReviewedTopic[];
  readonly showsText: boolean;
  readonly now: Date;
  readonly isWatched: boolean;
  readonly title?: string;
}

export function Topics({ topics, showsText, now, isWatched, title = 'Uncovered topics' }: TopicsProps) {
  return (
    <Section
      id="topics"
      title={title}
      lead="What people ask more than in the reference and the store answers badly, the largest first."
    >
      {topics.length === 0 ? (
        <Empty
          why={
            isWatched
              ? 'No topic is known that people ask about and the store does not cover.'
              : 'Topics are looked for once there is a reference to hold live queries against.'
          }
        />
      ) : (
        <ul class="topics">
          {topics.map((shown) => (
            <li key={shown.topic.id}>
              <Topic shown={shown} showsText={showsText} now={now} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

const MAX_EXAMPLES = 5;

function Topic({
  shown: { topic, windows, texts },
  showsText,
  now,
}: {
  readonly shown: ReviewedTopic;
  readonly showsText: boolean;
  readonly now: Date;
}) {
  const name = showsText && topic.label.length > 0 ? topic.label.join(' ') : topic.id;
  const examples = showsText
    ? topic.examples.flatMap((id) => (texts.has(id) ? [{ id, text: texts.get(id) }] : [])).slice(0, MAX_EXAMPLES)
    : [];
  const judged = judgedInWords(topic);
  const trend = windows.map(({ windowEnd, trafficShare }) => ({
    at: windowEnd,
    value: trafficShare,
    low: null,
    high: null,
  }));
  return (
    <article class="topic" aria-labelledby={`topic-${topic.id}`}>
      <div class="topic-head">
        <h3 id={`topic-${topic.id}`}>{name}</h3>
        <Badge tone={topic.state === 'open' ? 'warning' : 'neutral'}>{topic.state}</Badge>
        <span class="of">
          {topic.cause === 'lost_content' ? 'was asked before' : 'new'} · first seen <Instant at={topic.firstSeen} />,
          last <Age seconds={agoOf(topic.windowEnd, now)} />
        </span>
      </div>
      <p>
        <strong>{percent(topic.trafficShare)}</strong> of the traffic ({percent(topic.shareLow)} to{' '}
        {percent(topic.shareHigh)}), {plural(topic.sessions, 'session')} in the latest window,{' '}
        {compact(topic.excessPoints)} points beyond the reference. Its queries are covered {topic.density.toFixed(2)}{' '}
        times as well as in the reference.
      </p>
      {judged === null ? null : <p>{judged}</p>}
      {trend.length < 2 ? null : <Sparkline points={trend} />}
      <p class="topic-todo">{topicAdvice(topic)}</p>
      <div class="topic-parts">
        <div>
          <h4>Example queries</h4>
          {examples.length === 0 ? (
            <p class="of">
              {showsText
                ? 'None of their texts is kept any more.'
                : 'No text is shown: this pipeline has privacy.text: hash.'}
            </p>
          ) : (
            <ul>
              {examples.map(({ id, text }) => (
                <li key={id}>{text}</li>
              ))}
            </ul>
          )}
        </div>
        <div>
          <h4>Nearest chunks</h4>
          <ul>
            {topic.nearest.slice(0, MAX_EXAMPLES).map(([id, similarity]) => (
              <li key={id}>
                <code>{id}</code> <span class="of">{compact(similarity)}</span>
              </li>
            ))}
          </ul>
        </div>
        {topic.segments.length === 0 ? null : (
          <div>
            <h4>Who asks</h4>
            <ul>
              {topic.segments.slice(0, MAX_EXAMPLES).map(([segment, share]) => (
                <li key={segment}>
                  {segment} <span class="of">{percent(share)}</span>
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
      {topic.note === null ? null : <p class="of">Note: {topic.note}</p>}
    </article>
  );
}

// How well the store covered what people asked, within a review.

const charts: readonly { readonly measure: ReviewedMeasure; readonly level: TrendLevel }[] = [
  { measure: 'query_density', level: { value: 1, text: 'as in the reference', isAlarm: false } },
  { measure: 'query_uncovered_ratio', level: { value: 0.05, text: 'as in the reference', isAlarm: false } },
];

const kinds: Record<DensityEventKind, { readonly tone: Tone; readonly text: string }> = {
  page: { tone: 'critical', text: 'page' },
  ticket: { tone: 'warning', text: 'ticket' },
  resolve: { tone: 'ok', text: 'resolved' },
  reset: { tone: 'neutral', text: 'reset' },
  rebaseline: { tone: 'neutral', text: 'new reference' },
};

const MAX_EVENTS = 30;

interface DensityPartProps {
  readonly review: Review;
  readonly marks: readonly TrendMark[];
}

export function DensityPart({ review: { density, from, until }, marks }: DensityPartProps) {
  const { series, events, isWatched } = density;
  if (!isWatched && events.length === 0 && series.query_density.length === 0) {
    return (
      <Section id="density" title="Density drift">
        <Empty why="Query density is not watched on this pipeline, or has no reference yet: nothing says whether the store covers what people ask." />
      </Section>
    );
  }
  return (
    <Section
      id="density"
      title="Density drift"
      lead="How well the store covers live queries, against a reference of well-known traffic."
    >
      <div class="charts">
        {charts.map(({ measure, level }) => {
          const { title: name, show } = shownMeasure(measure);
          const points = measuredPoints(series[measure]);
          return (
            <TrendChart
              key={measure}
              id={`density-${measure}`}
              title={name}
              from={from}
              until={until}
              series={[{ name, points }]}
              marks={marks}
              levels={[level]}
              limits={[0, null]}
              show={show}
              empty="No window closed in this time."
            />
          );
        })}
      </div>
      {events.length === 0 ? (
        <p class="lead report-after">No alarm was raised or resolved in this time.</p>
      ) : (
        <Table
          caption="What the watch said, newest first"
          columns={[{ title: 'When (UTC)' }, { title: 'What' }, { title: 'In words' }]}
          rows={events.slice(0, MAX_EVENTS).map(({ id, occurredAt, kind, sentence }) => ({
            key: id,
            cells: [
              <Instant at={occurredAt} />,
              <Badge tone={kinds[kind].tone}>{kinds[kind].text}</Badge>,
              <Sentence>{sentence}</Sentence>,
            ],
          }))}
        />
      )}
    </Section>
  );
}

interface ComplaintsProps {
  readonly frame: Frame;
  /** Null: nobody looked. */
  readonly report: ComplaintsReport | null;
  readonly showsText: boolean;
}

export function ComplaintsSection({ frame, report, showsText }: ComplaintsProps) {
  return (
    <Section
      id="complaints"
      title="What people complain about"
      lead="Topics that sessions with negative feedback ask about more than others do."
    >
      {report === null ? (
        <AskForm frame={frame} section="complaints" label="Look for them">
          The sampled queries of two weeks are clustered, and the retriever is asked why it did not return what others
          liked.
        </AskForm>
      ) : (
        <Found report={report} showsText={showsText} />
      )}
    </Section>
  );
}

function Found({ report, showsText }: { readonly report: ComplaintsReport; readonly showsText: boolean }) {
  const { found, topics, days } = report;
  if (found.kind === 'insufficient_data') return <Empty why={lackingSentence(report) ?? ''} />;
  const sessions = `${plural(found.negative, 'session')} with negative feedback and ${count(found.others)} without, of ${days} days`;
  if (topics.length === 0) return <Empty why={`${sessions}: they do not differ by what they ask about.`} />;
  return (
    <>
      <p class="lead">{`${sessions}.`}</p>
      <ul class="topics">
        {topics.map((one) => (
          <li key={one.topic.members[0]}>
            <Complaint complaint={one} showsText={showsText} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Complaint({
  complaint: { topic, why },
  showsText,
}: {
  readonly complaint: ExplainedComplaint;
  readonly showsText: boolean;
}) {
  const { label, members, share, othersShare, sessions, days, failed, empty, shown, liked } = topic;
  const id = `complaint-${members[0] ?? ''}`;
  const trend = days.map(({ day, negative, sessions: own }) => ({
    at: new Date(`${day}T12:00:00Z`),
    value: own / negative,
    low: null,
    high: null,
  }));
  return (
    <article class="topic" aria-labelledby={id}>
      <div class="topic-head">
        <h3 id={id}>{showsText && label.length > 0 ? label.join(' ') : (members[0] ?? '')}</h3>
      </div>
      <p>
        <strong>{percent(share.value)}</strong> of the sessions with negative feedback ({percent(share.low)} to{' '}
        {percent(share.high)}), {plural(sessions, 'session')}; {percent(othersShare)} of the others.
        {failed + empty === 0
          ? null
          : ` Of its ${plural(members.length, 'query', 'queries')} ${failed} failed and ${empty} found nothing.`}
      </p>
      {trend.length < 2 ? null : <Sparkline points={trend} />}
      <div class="topic-parts">
        <div>
          <h4>Example queries</h4>
          <ul>
            {shown.map(({ id: query, text }) => (
              <li key={query}>{showsText && text !== null ? text : <code>{query}</code>}</li>
            ))}
          </ul>
        </div>
        <div>
          <h4>Liked by people who asked alike</h4>
          {liked.length === 0 ? (
            <p class="of">Nothing, so nobody knows what should have come.</p>
          ) : (
            <ul>
              {liked.map((document) => (
                <li key={document}>
                  <code>{document}</code>
                </li>
              ))}
            </ul>
          )}
        </div>
        {why === null || liked.length === 0 ? null : (
          <div>
            <h4>Why it did not come</h4>
            {why.length === 0 ? (
              <p class="of">It did: the examples got what others liked.</p>
            ) : (
              <ul>
                {countsOf(why).map(([words, times]) => (
                  <li key={words}>
                    {words} <span class="of">{plural(times, 'time')}</span>
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
      </div>
    </article>
  );
}
