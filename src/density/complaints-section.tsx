/** What people complain about, looked for when somebody asks. */
import { Sparkline } from '../console/charts/trend-chart.tsx';
import { Empty, Section } from '../console/components/section.tsx';
import { count, plural } from '../console/format.ts';
import { pipelinePath, within } from '../console/links.ts';
import type { Frame } from '../console/page.tsx';
import { countsOf } from '../explain/explain-answer.ts';
import { percent } from '../text/spelling.ts';
import { type ComplaintsReport, type ExplainedComplaint, lackingSentence } from './complaints-reads.ts';

interface ComplaintsProps {
  readonly frame: Frame;
  readonly pipeline: string;
  /** Null: nobody looked. */
  readonly report: ComplaintsReport | null;
  readonly showsText: boolean;
}

export function ComplaintsSection({ frame, pipeline, report, showsText }: ComplaintsProps) {
  return (
    <Section
      id="complaints"
      title="What people complain about"
      lead="Topics that sessions with negative feedback ask about more than others do."
    >
      {report === null ? (
        <p>
          <a href={`${within(frame.range, pipelinePath(pipeline, 'density'), { complaints: 'look' })}#complaints`}>
            Look for them
          </a>
          : the kept live queries of two weeks are clustered, and the retriever is asked why it did not bring what
          others liked.
        </p>
      ) : (
        <Found report={report} showsText={showsText} />
      )}
    </Section>
  );
}

function Found({ report, showsText }: { readonly report: ComplaintsReport; readonly showsText: boolean }) {
  const { found, topics, days } = report;
  if (found.kind === 'insufficient_data') return <Empty why={lackingSentence(report) ?? ''} />;
  const sessions = `${count(found.negative)} sessions with negative feedback and ${count(found.others)} without, of ${days} days`;
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
