/**
 * One incident as it was: what rang, how bad it got, what was said of it and when; and those of a review, with how many
 * pages they came to.
 */
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
import { BRIEF_MS, type Incident, pageStatistics } from '../../rules/incident.ts';
import { diagnosisPanel } from './diagnosis.ts';

export function incidentPage(incident: Incident): PageContent {
  const { id, pipeline, severity, openedAt, closedAt, closedBecause, timeline, earlier } = incident;
  return {
    title: `Incident ${id}`,
    pipeline,
    section: 'overview',
    aside:
      closedAt === null
        ? verdictBadge(severity)
        : badge(closedBecause === 'left_config' ? 'left the config' : 'resolved', 'neutral'),
    content: [
      section(
        'diagnosis',
        'What was likely behind it',
        {
          lead:
            closedAt === null
              ? 'It is open: each look may say more.'
              : `As it was said last, before it began to recover. It took ${duration((closedAt.getTime() - openedAt.getTime()) / 1000)}.`,
        },
        diagnosisPanel(incident, 'record'),
      ),
      section(
        'timeline',
        'What was in alarm',
        {},
        table('Alarms of this incident', timeline, [
          ['Alarm', ({ name }) => name],
          ['Came to', (alert) => verdictBadge(alert.severity)],
          ['From (UTC)', (alert) => time(alert.openedAt), 'minor'],
          ['Over (UTC)', ({ endedAt }) => (endedAt === null ? 'still rings' : time(endedAt))],
          ['At its worst', ({ worst }) => [worst.text, note(`at ${worst.at.toISOString().slice(11, 16)}`)]],
        ]),
      ),
      earlier.length > 0 &&
        section(
          'earlier',
          'What was said before',
          {},
          table('Earlier diagnoses of this incident, newest first', earlier, [
            ['Said (UTC)', ({ diagnosedAt }) => time(diagnosedAt)],
            ['Likely cause', ({ cause, confidence }) => [causeTexts[cause].title, note(`${confidence} confidence`)]],
            ['In words', ({ summary }) => summary],
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
        ? `The latest ${MAX_ROWS} of ${incidents.length}, newest first. An incident lasts until all of its alarms are over.`
        : 'Newest first. An incident lasts until all of its alarms are over. Numbers and causes are what was said then.',
    },
    incidents.length === 0
      ? empty('Nothing was in alarm in this time.')
      : table('Incidents, newest first', incidents.slice(0, MAX_ROWS), [
          ['Opened (UTC)', ({ openedAt }) => time(openedAt)],
          ['In alarm, at its worst', ({ timeline }) => timeline.map(({ name, worst }) => [name, why(worst.text)])],
          ['Came to', ({ severity }) => verdictBadge(severity)],
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
                before.length > 0 && why(`Read before as: ${before.join('; ')}.`),
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
      lead: `Nobody tells recalld which pages were false, so false ones are not counted here. What is: each time that something became critical, and of those the ones that look false, because no cause was found or the alarm was over within ${short}. Look at these first; a page of neither kind may be false too.`,
    },
    facts(
      fact('Pages', String(pages), 'changes of an alarm to critical'),
      fact('Without a known cause', String(unexplained)),
      fact(`Over within ${short}`, String(brief)),
      fact('Look false', String(suspect), 'of either kind, each once'),
      budget === null
        ? null
        : fact(
            'Density pages',
            String(ofDensity),
            `alerts.false_pages.drift accepts ${acceptedText(budget, until.getTime() - from.getTime())} false ones in this time: ${plural(budget.count, 'page')} in ${duration(budget.periodMs / 1000)}, over all pipelines together`,
          ),
    ),
    budget === null && lead('Query density is not watched here, so no budget of false pages is set.'),
  );
}

/** Two digits say all that there is to say of a budget. */
export function acceptedText(budget: FalsePageBudget, spanMs: number): string {
  return String(Number(acceptedFalsePages(budget, spanMs).toPrecision(2)));
}
