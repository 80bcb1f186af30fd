/** One incident as it was: what rang, how bad it got, what was said of it and when. */

import { Section } from '../../console/components/section.tsx';
import { Table } from '../../console/components/table.tsx';
import { Badge, Instant, Sentence, VerdictBadge } from '../../console/components/values.tsx';
import { duration } from '../../console/format.ts';
import { type Frame, Page } from '../../console/page.tsx';
import { causeTexts } from '../rules/cause.ts';
import type { Incident } from '../rules/incident.ts';
import { DiagnosisPanel } from './diagnosis.tsx';

export function IncidentPage({ frame, incident }: { readonly frame: Frame; readonly incident: Incident }) {
  const { pipeline, severity, closedAt, earlier } = incident;
  return (
    <Page
      frame={frame}
      title={`Incident ${incident.id}`}
      pipeline={pipeline}
      section="overview"
      aside={closedAt === null ? <VerdictBadge verdict={severity} /> : <Badge tone="neutral">over</Badge>}
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
export function lasted({ openedAt, closedAt }: Pick<Incident, 'openedAt' | 'closedAt'>, now?: Date): string {
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
