/**
 * One incident as it was: what rang, how bad it got, what was said of it and when; and those of a review, with how many
 * pages they came to.
 */

import { acceptedFalsePages } from '../../../../checks/rules/false-pages.ts';
import { duration, plural } from '../../../../core/format.ts';
import type { FalsePageBudget } from '../../../../density/rules/alarm.ts';
import {
  Badge,
  Empty,
  Facts,
  Instant,
  Section,
  Sentence,
  Table,
  VerdictBadge,
} from '../../../../report/console/components.tsx';
import { type Frame, Page } from '../../../../report/console/page.tsx';
import type { Review } from '../../../../report/status/read-review.ts';
import { causeTexts } from '../../rules/cause.ts';
import { BRIEF_MS, type Incident, pageStatistics } from '../../rules/incident.ts';
import { DiagnosisPanel } from './diagnosis.tsx';

export function IncidentPage({ frame, incident }: { readonly frame: Frame; readonly incident: Incident }) {
  const { pipeline, severity, closedAt, closedBecause, earlier } = incident;
  return (
    <Page
      frame={frame}
      title={`Incident ${incident.id}`}
      pipeline={pipeline}
      section="overview"
      aside={
        closedAt === null ? (
          <VerdictBadge verdict={severity} />
        ) : (
          <Badge tone="neutral">{closedBecause === 'left_config' ? 'left the config' : 'resolved'}</Badge>
        )
      }
    >
      <Section
        id="diagnosis"
        title="What was likely behind it"
        lead={
          closedAt === null
            ? 'It is open: each look may say more.'
            : `As it was said last, before it began to recover. It took ${lasted(incident)}.`
        }
      >
        <DiagnosisPanel diagnosis={incident} range={frame.range} isRecord />
      </Section>
      <Section id="course" title="What was in alarm">
        <CourseTable incident={incident} />
      </Section>
      {earlier.length === 0 ? null : (
        <Section id="earlier" title="What was said before">
          <Table
            caption="Earlier diagnoses of this incident, newest first"
            columns={[{ title: 'Said (UTC)' }, { title: 'Likely cause' }, { title: 'In words' }]}
            rows={earlier.map(({ saidAt, cause, confidence, summary }) => ({
              key: saidAt.toISOString(),
              cells: [
                <Instant at={saidAt} />,
                <>
                  {causeTexts[cause].title}
                  <span class="severity">{confidence} confidence</span>
                </>,
                <Sentence>{summary}</Sentence>,
              ],
            }))}
          />
        </Section>
      )}
    </Page>
  );
}

/** From the first alarm to the end of the last; of an open one so far. */
function lasted({ openedAt, closedAt }: Pick<Incident, 'openedAt' | 'closedAt'>, now?: Date): string {
  const until = closedAt ?? now;
  return until === undefined ? 'still' : duration((until.getTime() - openedAt.getTime()) / 1000);
}

function CourseTable({ incident: { course } }: { readonly incident: Incident }) {
  return (
    <Table
      caption="Alarms of this incident"
      columns={[
        { title: 'Alarm' },
        { title: 'Came to' },
        { title: 'From (UTC)', isMinor: true },
        { title: 'Over (UTC)' },
        { title: 'At its worst' },
      ]}
      rows={course.map(({ name, severity, openedAt, endedAt, worst }) => ({
        key: name,
        cells: [
          name,
          <VerdictBadge verdict={severity} />,
          <Instant at={openedAt} />,
          endedAt === null ? 'still rings' : <Instant at={endedAt} />,
          <>
            <Sentence>{worst.text}</Sentence> <span class="severity">at {worst.at.toISOString().slice(11, 16)}</span>
          </>,
        ],
      }))}
    />
  );
}

const MAX_ROWS = 50;

export function IncidentsPart({ review: { incidents, until } }: { readonly review: Review }) {
  return (
    <Section
      id="incidents"
      title="Incidents and their causes"
      lead={
        incidents.length > MAX_ROWS
          ? `The latest ${MAX_ROWS} of ${incidents.length}, newest first. An incident lasts until all of its alarms are over.`
          : 'Newest first. An incident lasts until all of its alarms are over. Numbers and causes are what was said then.'
      }
    >
      {incidents.length === 0 ? (
        <Empty why="Nothing was in alarm in this time." />
      ) : (
        <Table
          caption="Incidents, newest first"
          columns={[
            { title: 'Opened (UTC)' },
            { title: 'In alarm, at its worst' },
            { title: 'Came to' },
            { title: 'Lasted', isNumber: true },
            { title: 'Likely cause' },
          ]}
          rows={incidents.slice(0, MAX_ROWS).map((incident) => ({
            key: incident.id,
            cells: [
              <Instant at={incident.openedAt} />,
              incident.course.map(({ name, worst }) => (
                <div key={name}>
                  {name}
                  <span class="why">
                    <Sentence>{worst.text}</Sentence>
                  </span>
                </div>
              )),
              <VerdictBadge verdict={incident.severity} />,
              <span class="instant">
                {duration(((incident.closedAt ?? until).getTime() - incident.openedAt.getTime()) / 1000)}
                {incident.closedAt === null ? <span class="severity">open</span> : null}
              </span>,
              <CauseOf incident={incident} />,
            ],
          }))}
        />
      )}
    </Section>
  );
}

function CauseOf({ incident: { cause, confidence, earlier } }: { readonly incident: Incident }) {
  const { title, action } = causeTexts[cause];
  const before = [...new Set(earlier.map((one) => causeTexts[one.cause].title))].filter((one) => one !== title);
  return (
    <>
      {title}
      <span class="severity">{confidence} confidence</span>
      <span class="why">
        <Sentence>{action}</Sentence>
      </span>
      {before.length === 0 ? null : <span class="why">Read before as: {before.join('; ')}.</span>}
    </>
  );
}

export function PagesPart({ review: { incidents, density, from, until } }: { readonly review: Review }) {
  const account = pageStatistics(incidents, from, until);
  const { budget, events } = density;
  const ofDensity = events.filter(({ kind }) => kind === 'page').length;
  return (
    <Section
      id="pages"
      title="Pages against the budget"
      lead={`Nobody tells recalld which pages were false, so false ones are not counted here. What is: each time that something became critical, and of those the ones that look false, because no cause was found or the alarm was over within ${duration(BRIEF_MS / 1000)}. Look at these first; a page of neither kind may be false too.`}
    >
      <Facts
        facts={[
          { name: 'Pages', value: String(account.pages), detail: 'changes of an alarm to critical' },
          { name: 'Without a known cause', value: String(account.unexplained) },
          { name: `Over within ${duration(BRIEF_MS / 1000)}`, value: String(account.brief) },
          { name: 'Look false', value: String(account.suspect), detail: 'of either kind, each once' },
          ...(budget === null
            ? []
            : [
                {
                  name: 'Density pages',
                  value: String(ofDensity),
                  detail: `alerts.false_pages.drift accepts ${acceptedText(budget, until.getTime() - from.getTime())} false ones in this time: ${plural(budget.count, 'page')} in ${duration(budget.periodMs / 1000)}, over all pipelines together`,
                },
              ]),
        ]}
      />
      {budget === null ? (
        <p class="lead">Query density is not watched here, so no budget of false pages is set.</p>
      ) : null}
    </Section>
  );
}

/** Two digits say all that there is to say of a budget. */
export function acceptedText(budget: FalsePageBudget, spanMs: number): string {
  return String(Number(acceptedFalsePages(budget, spanMs).toPrecision(2)));
}
