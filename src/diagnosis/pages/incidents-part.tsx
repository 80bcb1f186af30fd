/** What was in alarm within a review, what was behind it, and how many pages that came to. */
import { acceptedFalsePages } from '../../checks/rules/false-pages.ts';
import { BRIEF_MS, pageStatistics } from '../../checks/rules/incidents.ts';
import { Empty, Facts, Section } from '../../console/components/section.tsx';
import { Table } from '../../console/components/table.tsx';
import { Instant, Missing, VerdictBadge } from '../../console/components/values.tsx';
import { duration, plural } from '../../console/format.ts';
import type { FalsePageBudget } from '../../density/rules/alarm.ts';
import type { Review, ReviewedIncident } from '../../status/read-review.ts';
import { causeTexts } from '../rules/cause.ts';

const MAX_ROWS = 50;

export function IncidentsPart({ review: { incidents } }: { readonly review: Review }) {
  return (
    <Section
      id="incidents"
      title="Incidents and their causes"
      lead={
        incidents.length > MAX_ROWS
          ? `The latest ${MAX_ROWS} of ${incidents.length}, newest first. An incident lasts until its check is ok again.`
          : 'Newest first. An incident lasts until its check is ok again; causes are what recalld read from the measures then.'
      }
    >
      {incidents.length === 0 ? (
        <Empty why="No check was a warning or critical in this time." />
      ) : (
        <Table
          caption="Incidents, newest first"
          columns={[
            { title: 'Opened (UTC)' },
            { title: 'Check' },
            { title: 'Came to' },
            { title: 'Lasted', isNumber: true },
            { title: 'Likely cause' },
          ]}
          rows={incidents.slice(0, MAX_ROWS).map((incident, index) => ({
            key: `${incident.check} ${index}`,
            cells: [
              incident.openedAt === null ? 'before this time' : <Instant at={incident.openedAt} />,
              <>
                {incident.check}
                {incident.explanation === null ? null : <span class="why">{incident.explanation}</span>}
              </>,
              <VerdictBadge verdict={incident.worst} />,
              <span class="instant">
                {duration(incident.durationMs / 1000)}
                {incident.closedAt === null ? <span class="severity">open at the end</span> : null}
              </span>,
              <CauseOf incident={incident} />,
            ],
          }))}
        />
      )}
    </Section>
  );
}

function CauseOf({ incident: { diagnoses } }: { readonly incident: ReviewedIncident }) {
  const [latest, ...earlier] = diagnoses;
  if (latest === undefined) return <Missing>not diagnosed</Missing>;
  const before = [...new Set(earlier.map(({ cause }) => causeTexts[cause].title))].filter(
    (title) => title !== causeTexts[latest.cause].title,
  );
  return (
    <>
      {causeTexts[latest.cause].title}
      <span class="severity">{latest.confidence} confidence</span>
      <span class="why">{causeTexts[latest.cause].action}</span>
      {before.length === 0 ? null : <span class="why">Read before as: {before.join('; ')}.</span>}
    </>
  );
}

export function PagesPart({ review: { incidents, density, from, until } }: { readonly review: Review }) {
  const account = pageStatistics(incidents.map((one) => ({ ...one, cause: one.diagnoses[0]?.cause ?? null })));
  const { budget, events } = density;
  const ofDensity = events.filter(({ kind }) => kind === 'page').length;
  return (
    <Section
      id="pages"
      title="Pages against the budget"
      lead={`Nobody tells recalld which pages were false, so false ones are not counted here. What is: each time that a check became critical, and of those the ones that look false, because no cause was found or the check was ok again within ${duration(BRIEF_MS / 1000)}. Look at these first; a page of neither kind may be false too.`}
    >
      <Facts
        facts={[
          { name: 'Pages', value: String(account.pages), detail: 'changes of a check to critical' },
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
