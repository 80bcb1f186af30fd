/**
 * Web page of one incident, and two sections of the weekly report: incidents, and pages (alerts that became critical).
 */
import { acceptedFalsePages } from '../../../../checks/rules/false-pages.ts';
import { capitalized, count, duration, plural, timeOfDay } from '../../../../core/format.ts';
import type { FalsePageBudget } from '../../../../density/rules/alert.ts';
import type { QueryView } from '../../../../golden/rules/listed-queries.ts';
import { changeSentence } from '../../../../live/deployments/edge/deployments-page.ts';
import { incidentPath, pipelinePath, runQueries, runQuery } from '../../../../report/console/links.ts';
import type { TrendMark } from '../../../../report/model/charts.ts';
import type { Content, PageContent, Section } from '../../../../report/model/content.ts';
import {
  age,
  badge,
  documentId,
  empty,
  fact,
  facts,
  group,
  lead,
  link,
  list,
  missing,
  more,
  note,
  paragraph,
  query,
  section,
  strong,
  styled,
  styledParagraph,
  table,
  time,
  value,
  verbatim,
  verdictBadge,
  why,
} from '../../../../report/model/show.ts';
import type { WeeklyReport } from '../../../../report/status/weekly-report.ts';
import { silencePanel } from '../../../notifications/edge/silence-panel.ts';
import { causeTexts, tellApart } from '../../rules/cause.ts';
import { BRIEF_MS, type Incident, pageStatistics, worstAlert } from '../../rules/incident.ts';
import { besideOf } from '../../rules/rank-causes.ts';
import { inOrder } from '../incident-chart.ts';
import { alsoLine, causeLine, firstNote, others, shownBy } from './diagnosis.ts';
import { evidenceTable } from './evidence-table.ts';
import { incidentActs } from './incident-acts.ts';
import type { IncidentPageData, ShownQuery } from './incident-reads.ts';

export function incidentPage(data: IncidentPageData): PageContent {
  const { incident, chart } = data;
  const { pipeline, severity, closedAt, closedBecause } = incident;
  return {
    title: titleOf(incident),
    pipeline,
    section: 'overview',
    hasRange: false,
    aside:
      closedAt === null
        ? verdictBadge(severity)
        : badge(closedBecause === 'left_config' ? 'removed from the config' : 'resolved', 'good'),
    content: [
      group(
        'sides',
        section(
          'summary',
          'What happened',
          {},
          group('stack', summary(data)),
          incidentActs(
            incident,
            data.notes,
            data.reliability,
            silencePanel(pipeline, data.silences, data.now, incidentPath(incident.id)),
          ),
        ),
        section(
          'chart',
          'Failing measure',
          {},
          chart === null
            ? empty('This alert has no chart, because recalld has stored no values for it.')
            : { ...chart, marks: inOrder([...(chart.marks ?? []), ...messageMarks(data.messages)]) },
        ),
      ),
      evidence(incident),
      goldenQueries(data),
      liveQueries(data),
      messages(data),
      alerts(incident),
    ],
  };
}

/** Names the likely cause and the symptom: "Documents missing from the index: nDCG@10 on faq 0.55, below 0.7". */
function titleOf(incident: Incident): string {
  const { cause } = incident;
  const headline = worstAlert(incident)?.worst.headline ?? 'an alert is firing';
  // The headline of an outage states the cause, so the title does not repeat it.
  if (cause === 'unknown' || (cause === 'retriever_outage' && headline.startsWith('retriever down')))
    return `${capitalized(headline)}${cause === 'unknown' ? ' (cause unknown)' : ''}`;
  return `${capitalized(causeTexts[cause].title)}: ${headline}`;
}

function summary({ incident, golden, live, lastGoodAt, deployments }: IncidentPageData): Content {
  const { pipeline, openedAt, closedAt, cause, also, runId, referenceRunId } = incident;
  const worst = worstAlert(incident);
  const beside = besideOf(incident);
  return [
    worst !== undefined && paragraph(worst.worst.text),
    facts(
      fact('Opened', time(openedAt), closedAt === null ? age(openedAt) : null),
      closedAt === null
        ? null
        : fact('Lasted', duration((closedAt.getTime() - openedAt.getTime()) / 1000), worst?.recovered ?? null),
      lastGoodAt === null ? null : fact('Last good run', time(lastGoodAt)),
    ),
    deployments.map((one) => paragraph(strong('What changed'), ' (', time(one.occurredAt), '): ', changeSentence(one))),
    deployments.length === 0 &&
      lastGoodAt !== null &&
      styledParagraph('quiet', 'recalld knows of no deployment since the last good run.'),
    causeLine(incident),
    also.map(alsoLine),
    firstNote(incident),
    paragraph(strong('What to do: '), beside === null ? causeTexts[cause].action : tellApart(cause, beside.cause)),
    list(
      'links',
      [
        worst !== undefined && link('Runbook', `/runbooks/${worst.rule}`),
        golden !== null
          ? link('Queries that show the problem', incidentPath(incident.id), {}, 'queries')
          : live !== null && live.texts.length > 0
            ? link('Queries that show the problem', incidentPath(incident.id), {}, 'live-queries')
            : shownBy(incident),
        runId !== null &&
          runQueries(
            referenceRunId === null ? 'Failing run' : 'Failing run compared with the last good run',
            runId,
            'regressed',
            referenceRunId,
          ),
        link('Deployments', '/deployments', { pipeline }),
      ].filter((one) => one !== false && one !== null),
    ),
  ];
}

function evidence(incident: Incident): Section {
  const own = incident.ranked.find((one) => one.cause === incident.cause);
  const [supporting, opposing] = [own?.supporting ?? [], own?.opposing ?? []];
  return section(
    'evidence',
    'Evidence',
    {
      lead:
        incident.closedAt === null
          ? '"Before" is the value in the last good run or, for measures outside golden runs, the value before the alert.'
          : 'This evidence was recorded when the incident was at its worst. "Before" is the value in the last good run or, for measures outside golden runs, the value before the alert.',
    },
    supporting.length + opposing.length === 0
      ? empty('The evidence does not point to a single cause.')
      : evidenceTable(supporting, opposing, incident),
    others(incident),
    earlierDiagnoses(incident),
  );
}

const viewLeads: Partial<Record<QueryView, string>> = {
  regressed: 'scored lower than in the last good run',
  failed: 'failed',
  newly_empty: 'returned results in the last good run but none in this run',
};

function goldenQueries({ golden }: IncidentPageData): Content {
  if (golden === null) return null;
  const { run, against, view, queries, total, measure } = golden;
  const noun = plural(total, 'golden query', 'golden queries');
  return section(
    'queries',
    'Queries that show the problem',
    {
      lead: `${noun} ${viewLeads[view] ?? ''}; worst first.`,
      aside: runQueries(`All ${count(total)}`, run.id, view, against?.id ?? null),
    },
    table('Golden queries affected by the incident', queries, [
      [
        'Query',
        ({ id, text }) => ({ ...runQuery(run.id, id, query(id, text)), query: { against: against?.id ?? null } }),
      ],
      against === null
        ? null
        : [`${measure} before`, ({ before }) => (before === null ? missing('none') : value(before, 'score')), 'number'],
      [against === null ? measure : 'Now', ({ score }) => value(score, 'score'), 'number'],
      ['Relevant documents: earlier and current rank', ranksOf],
    ]),
  );
}

function ranksOf({ outcome, ranks }: ShownQuery): Content {
  if (outcome === 'error' || outcome === 'timeout') return badge(outcome, 'critical');
  if (ranks.length === 0) return missing('none returned');
  return list(
    'plain',
    ranks.map(({ documentId: id, before, now }) => [
      documentId(id),
      ` ${before ?? 'not returned'} \u2192 `,
      now === null || (before !== null && now > before) ? styled('fell', String(now ?? 'not returned')) : String(now),
    ]),
  );
}

function liveQueries({ live, incident }: IncidentPageData): Content {
  if (live === null || live.texts.length === 0) return null;
  return section(
    'live-queries',
    'Live queries that show the problem',
    {
      lead: live.lead,
      aside: link(live.page === 'density' ? 'All topics' : 'Judge', pipelinePath(incident.pipeline, live.page)),
    },
    list(
      'plain',
      live.texts.map((text) => styled('query', verbatim(text))),
    ),
  );
}

type SentMessage = IncidentPageData['messages'][number];

const eventTexts: Readonly<Record<SentMessage['event'], string>> = {
  opened: 'first message',
  updated: 'follow-up',
  closed: 'resolution',
};

function messages({ messages: all }: IncidentPageData): Section {
  return section(
    'notifications',
    'Notifications',
    {},
    all.length === 0
      ? empty(
          'recalld sent no message about this incident.',
          'Receivers are configured under `notify`. Messages from Alertmanager are not listed here.',
        )
      : table('Messages about this incident, oldest first', all, [
          ['Time (UTC)', ({ sentAt, dueAt }) => time(sentAt ?? dueAt)],
          ['Receiver', ({ receiver }) => (receiver === null ? missing('removed from the config') : receiver.kind)],
          ['Message', ({ event }) => eventTexts[event]],
          ['Status', statusOf],
        ]),
  );
}

function statusOf({ sentAt, givenUpAt, attempts }: SentMessage): Content {
  if (sentAt !== null) return badge('sent', 'good');
  if (givenUpAt !== null) return badge('not delivered', 'critical');
  return attempts === 0 ? badge('due', 'neutral') : badge(`retried, ${plural(attempts, 'attempt')} failed`, 'warning');
}

/**
 * Returns the chart marks for sent messages. Messages of the same kind that were sent in the same minute share a mark.
 */
function messageMarks(sent: readonly SentMessage[]): TrendMark[] {
  const marks = sent.flatMap(({ event, sentAt }) =>
    sentAt === null ? [] : [{ at: sentAt, text: `${eventTexts[event]} sent`, kind: 'notification' as const }],
  );
  return [...new Map(marks.map((mark) => [`${mark.text} ${mark.at.toISOString().slice(0, 16)}`, mark])).values()];
}

function alerts({ timeline }: Incident): Section {
  return section(
    'timeline',
    'Alerts',
    {},
    table('Alerts of this incident', timeline, [
      ['Alert', ({ name, rule }) => [name, why(link('runbook', `/runbooks/${rule}`))]],
      ['Severity', (alert) => verdictBadge(alert.severity)],
      ['From (UTC)', (alert) => time(alert.openedAt), 'minor'],
      ['Resolved (UTC)', ({ endedAt }) => (endedAt === null ? 'still firing' : time(endedAt))],
      ['At its worst', ({ worst }) => [worst.text, note(`measured at ${timeOfDay(worst.at)}`)]],
    ]),
  );
}

function earlierDiagnoses({ earlier }: Incident): Content {
  if (earlier.length === 0) return null;
  return more(
    `Earlier diagnoses (${earlier.length})`,
    table('Earlier diagnoses of this incident, newest first', earlier, [
      ['Time (UTC)', ({ diagnosedAt }) => time(diagnosedAt)],
      ['Likely cause', ({ cause, confidence }) => [causeTexts[cause].title, note(`${confidence} confidence`)]],
      ['Summary', ({ summary: text }) => text],
    ]),
  );
}

const MAX_ROWS = 50;

export function incidentsPart({ incidents, until }: WeeklyReport): Section {
  const cut = incidents.length > MAX_ROWS;
  return section(
    'incidents',
    'Incidents and their causes',
    {
      lead: cut
        ? `The latest ${MAX_ROWS} of ${incidents.length} incidents, newest first. An incident lasts until all of its alerts are resolved.`
        : 'Newest first. An incident lasts until all of its alerts are resolved. Values and causes are those at the time of the incident.',
    },
    incidents.length === 0
      ? empty('No alerts fired in this period.')
      : table('Incidents, newest first', incidents.slice(0, MAX_ROWS), [
          ['Opened (UTC)', ({ openedAt }) => time(openedAt)],
          [
            'Alerts with their worst values',
            ({ timeline }) => timeline.map(({ name, worst }) => [name, why(worst.text)]),
          ],
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
                before.length > 0 && why(`Earlier diagnoses: ${before.join('; ')}.`),
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
    'Pages compared with the budget',
    {
      lead: `An alert counts as a page each time it becomes critical. recalld does not know which pages were false. A page is suspect if the cause is unknown or if the alert resolved within ${short}. Review the suspect pages first; other pages may be false too.`,
    },
    facts(
      fact('Pages', String(pages), 'times that an alert became critical'),
      fact('Without a known cause', String(unexplained)),
      fact(`Resolved within ${short}`, String(brief)),
      fact('Suspect', String(suspect), `cause unknown, resolved within ${short}, or both`),
      budget === null
        ? null
        : fact(
            'Density pages',
            String(ofDensity),
            `alerts.false_pages.drift accepts ${acceptedText(budget, until.getTime() - from.getTime())} false pages in this period (${plural(budget.count, 'page')} per ${duration(budget.periodMs / 1000)}, for all pipelines together)`,
          ),
    ),
    budget === null && lead('Query density is not monitored for this pipeline, so there is no budget for false pages.'),
  );
}

export function acceptedText(budget: FalsePageBudget, spanMs: number): string {
  return String(Number(acceptedFalsePages(budget, spanMs).toPrecision(2)));
}
