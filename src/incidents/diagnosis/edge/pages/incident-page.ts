/** Page of one incident with its alerts and diagnoses over time, and the parts of the weekly report on incidents and pages. */
import { acceptedFalsePages } from '../../../../checks/rules/false-pages.ts';
import { duration, plural } from '../../../../core/format.ts';
import type { FalsePageBudget } from '../../../../density/rules/alert.ts';
import type { PageContent, Section } from '../../../../report/model/content.ts';
import {
  badge,
  empty,
  fact,
  facts,
  lead,
  note,
  section,
  table,
  time,
  verdictBadge,
  why,
} from '../../../../report/model/show.ts';
import type { WeeklyReport } from '../../../../report/status/weekly-report.ts';
import { causeTexts } from '../../rules/cause.ts';
import { BRIEF_MS, pageStatistics } from '../../rules/incident.ts';
import { diagnosisPanel } from './diagnosis.ts';
import { incidentActs } from './incident-acts.ts';
import type { IncidentPageData } from './incident-reads.ts';

export function incidentPage({ incident, notes, reliability }: IncidentPageData): PageContent {
  const { id, pipeline, severity, openedAt, closedAt, closedBecause, timeline, earlier } = incident;
  return {
    title: `Incident ${id}`,
    pipeline,
    section: 'overview',
    aside:
      closedAt === null
        ? verdictBadge(severity)
        : badge(closedBecause === 'left_config' ? 'removed from the config' : 'resolved', 'neutral'),
    content: [
      section(
        'diagnosis',
        'Likely cause',
        {
          lead:
            closedAt === null
              ? 'The incident is open; the next diagnosis may say more.'
              : `The latest diagnosis before the recovery. The incident lasted ${duration((closedAt.getTime() - openedAt.getTime()) / 1000)}.`,
        },
        diagnosisPanel(incident, 'record'),
        incidentActs(incident, notes, reliability),
      ),
      section(
        'timeline',
        'Alerts',
        {},
        table('Alerts of this incident', timeline, [
          ['Alert', ({ name }) => name],
          ['Severity', (alert) => verdictBadge(alert.severity)],
          ['From (UTC)', (alert) => time(alert.openedAt), 'minor'],
          ['Resolved (UTC)', ({ endedAt }) => (endedAt === null ? 'still firing' : time(endedAt))],
          ['At its worst', ({ worst }) => [worst.text, note(`at ${worst.at.toISOString().slice(11, 16)}`)]],
        ]),
      ),
      earlier.length > 0 &&
        section(
          'earlier',
          'Earlier diagnoses',
          {},
          table('Earlier diagnoses of this incident, newest first', earlier, [
            ['Time (UTC)', ({ diagnosedAt }) => time(diagnosedAt)],
            ['Likely cause', ({ cause, confidence }) => [causeTexts[cause].title, note(`${confidence} confidence`)]],
            ['Summary', ({ summary }) => summary],
          ]),
        ),
    ],
  };
}

const MAX_ROWS = 50;

export function incidentsPart({ incidents, until }: WeeklyReport): Section {
  const cut = incidents.length > MAX_ROWS;
  return section(
    'incidents',
    'Incidents and their causes',
    {
      lead: cut
        ? `The latest ${MAX_ROWS} of ${incidents.length}, newest first. An incident lasts until all of its alerts are resolved.`
        : 'Newest first. An incident lasts until all of its alerts are resolved. Numbers and causes are those of that time.',
    },
    incidents.length === 0
      ? empty('No alerts fired in this time.')
      : table('Incidents, newest first', incidents.slice(0, MAX_ROWS), [
          ['Opened (UTC)', ({ openedAt }) => time(openedAt)],
          ['Alerts, at their worst', ({ timeline }) => timeline.map(({ name, worst }) => [name, why(worst.text)])],
          ['Severity', ({ severity }) => verdictBadge(severity)],
          [
            'Lasted',
            ({ openedAt, closedAt }) => [
              duration(((closedAt ?? until).getTime() - openedAt.getTime()) / 1000),
              closedAt === null && note('open'),
            ],
            'number',
          ],
          [
            'Likely cause',
            ({ cause, confidence, earlier }) => {
              const { title, action } = causeTexts[cause];
              const before = [...new Set(earlier.map((one) => causeTexts[one.cause].title))].filter(
                (one) => one !== title,
              );
              return [
                title,
                note(`${confidence} confidence`),
                why(action),
                before.length > 0 && why(`Diagnosed before as: ${before.join('; ')}.`),
              ];
            },
          ],
        ]),
  );
}

export function pagesPart({ incidents, density, from, until }: WeeklyReport): Section {
  const { pages, unexplained, brief, suspect } = pageStatistics(incidents, from, until);
  const { budget, events } = density;
  const ofDensity = events.filter(({ kind }) => kind === 'page').length;
  const short = duration(BRIEF_MS / 1000);
  return section(
    'pages',
    'Pages against the budget',
    {
      lead: `recalld does not know which pages were false. It counts every change to critical, and the suspect ones: pages without a known cause, or resolved within ${short}. Review these first; other pages may be false too.`,
    },
    facts(
      fact('Pages', String(pages), 'changes of an alert to critical'),
      fact('Without a known cause', String(unexplained)),
      fact(`Resolved within ${short}`, String(brief)),
      fact('Suspect', String(suspect), 'of either kind, each counted once'),
      budget === null
        ? null
        : fact(
            'Density pages',
            String(ofDensity),
            `alerts.false_pages.drift accepts ${acceptedText(budget, until.getTime() - from.getTime())} false ones in this time: ${plural(budget.count, 'page')} in ${duration(budget.periodMs / 1000)}, over all pipelines together`,
          ),
    ),
    budget === null && lead('Query density is not monitored here, so there is no budget of false pages.'),
  );
}

/** Formats an accepted number of false pages with two digits. */
export function acceptedText(budget: FalsePageBudget, spanMs: number): string {
  return String(Number(acceptedFalsePages(budget, spanMs).toPrecision(2)));
}
