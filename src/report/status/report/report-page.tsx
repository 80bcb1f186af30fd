/** Renders a pipeline's weekly report as one self-contained HTML document. */
import { clipped } from '../../../connectors/receivers/receiver.ts';
import { duration, minute } from '../../../core/format.ts';
import { densityPart, topicsSection } from '../../../density/edge/sections.ts';
import { goldenHealthPart, headlineOf, scoresPart } from '../../../golden/edge/pages/scores-part.ts';
import { acceptedText, incidentsPart, pagesPart } from '../../../incidents/diagnosis/edge/pages/incident-page.ts';
import { pageStatistics } from '../../../incidents/diagnosis/rules/incident.ts';
import { deploymentMark } from '../../../live/deployments/edge/deployments-page.ts';
import { renderDocument, shown } from '../../console/render.tsx';
import { markdown } from '../../markdown.ts';
import type { Content, Fact } from '../../model/content.ts';
import { bounded, callout, fact, facts, lead, list, section } from '../../model/show.ts';
import { plainText } from '../../terminal.ts';
import type { WeeklyReport } from '../weekly-report.ts';
import { whatChanged, whatToDo } from './summary.ts';

function reportContent(report: WeeklyReport): Content {
  const { topics, showsText, density, truncated } = report;
  const marks = report.deployments.map(deploymentMark);
  const todo = whatToDo(report);
  return [
    truncated.length > 0 &&
      callout(
        `This report is incomplete: there are too many ${truncated.join(' and ')} to list. Choose a shorter period.`,
      ),
    section('glance', 'At a glance', {}, facts(...glance(report))),
    section('changed', 'What changed', {}, list('signs', whatChanged(report))),
    section('todo', 'What to do', {}, todo.length === 0 ? lead('Nothing.') : list('signs', todo)),
    scoresPart(report, marks),
    incidentsPart(report),
    densityPart(report, marks),
    topicsSection(topics, showsText, density.isWatched, 'Topics to write about'),
    goldenHealthPart(report),
    pagesPart(report),
  ];
}

export function reportMarkdown(report: WeeklyReport, now: Date): string {
  return `# ${titleOf(report)}\n\n${markdown(reportContent(report), now)}`;
}

function part(name: string, lines: readonly string[]): string {
  const items = lines.map((line) => `• ${line.replaceAll(/[&<>]/g, (sign) => entities[sign] ?? sign)}`);
  return [`*${name}*`, ...items].join('\n');
}

/** @returns the body of a message for a Slack incoming webhook, with the first part of the report */
export function reportSlack(report: WeeklyReport, now: Date): object {
  const title = titleOf(report);
  const lines = glance(report).map(({ name, value }) => `${name}: ${plainText(value, now)}`);
  const todo = whatToDo(report);
  const texts = [
    part('At a glance', lines),
    part('What changed', whatChanged(report)),
    part('What to do', todo.length === 0 ? ['Nothing.'] : todo),
  ];
  return {
    text: title,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: clipped(title, 150), emoji: false } },
      ...texts.map((text) => ({
        type: 'section',
        text: { type: 'mrkdwn', text: clipped(text, 3000), verbatim: true },
      })),
    ],
  };
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function titleOf({ pipeline, from, until }: WeeklyReport): string {
  return `${pipeline}: retrieval quality, ${minute(from)} to ${minute(until)} UTC`;
}

function glance({ sets, incidents, density, topics, from, until }: WeeklyReport): Fact[] {
  const critical = incidents.filter(({ severity }) => severity === 'critical').length;
  const latest = density.series.query_density.at(-1);
  const { pages, suspect } = pageStatistics(incidents, from, until);
  const accepted = density.budget === null ? null : acceptedText(density.budget, until.getTime() - from.getTime());
  return [
    ...sets.map(headlineOf),
    incidents.length === 0
      ? fact('Incidents', 'none', 'no alert fired')
      : fact('Incidents', incidents.length, `${critical} critical`),
    latest === undefined
      ? fact('Query density', 'no data', 'not measured in this period')
      : fact('Query density', bounded(latest, 'ratio'), 'baseline = 1'),
    topics.length === 0
      ? fact('Topics to write about', 'none', 'no uncovered topic is open')
      : fact('Topics to write about', topics.length, 'uncovered now'),
    pages === 0
      ? fact('Pages', 'none', accepted === null ? 'no alert became critical' : `budget for false pages: ${accepted}`)
      : fact('Pages', pages, `${suspect} suspect`),
  ];
}

/** Prevents the browser from loading resources and running scripts, even if text in the report contains HTML. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** @returns a complete HTML document with inline styles and charts, and without scripts */
export function renderReport(report: WeeklyReport, now: Date, version: string, style: string): string {
  const { pipeline, from, until } = report;
  return renderDocument(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content={POLICY} />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${pipeline}: retrieval quality, ${minute(from)} to ${minute(until)} · recalld`}</title>
        <style dangerouslySetInnerHTML={{ __html: style }} />
      </head>
      <body class="report">
        <main>
          <div class="title-row">
            <div class="title-words">
              <p class="over-title">Retrieval quality report</p>
              <h1>{pipeline}</h1>
              <p class="report-span">
                <time datetime={from.toISOString()}>{minute(from)}</time> to{' '}
                <time datetime={until.toISOString()}>{minute(until)}</time> UTC,{' '}
                {duration((until.getTime() - from.getTime()) / 1000)}
              </p>
            </div>
          </div>
          {shown(reportContent(report), { from, until, now, frame: null })}
        </main>
        <footer class="foot">
          <p>
            recalld {version} · written <time datetime={now.toISOString()}>{minute(now)}</time> · all times in UTC ·
            intervals and bands are 95 % CI
          </p>
        </footer>
      </body>
    </html>,
  );
}
