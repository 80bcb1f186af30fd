/** A review of one pipeline over a span of time, as one document that needs no server and nothing else. */
import { duration, minute, plural } from '../../../core/format.ts';
import { densityPart, topicsSection } from '../../../density/edge/sections.ts';
import { goldenHealthPart, headlineOf, scoresPart } from '../../../golden/edge/pages/scores-part.ts';
import { acceptedText, incidentsPart, pagesPart } from '../../../incidents/diagnosis/edge/pages/incident-page.ts';
import { pageStatistics } from '../../../incidents/diagnosis/rules/incident.ts';
import { deploymentMark } from '../../../live/deployments/edge/deployments-page.ts';
import { renderDocument, shown } from '../../console/render.tsx';
import type { Content, ContentNode } from '../../model/content.ts';
import { bounded, callout, fact, facts, section } from '../../model/show.ts';
import type { WeeklyReport } from '../weekly-report.ts';

interface ReportProps {
  readonly review: WeeklyReport;
  /** When it was written. */
  readonly now: Date;
  readonly version: string;
  /** The style sheet, whole. */
  readonly style: string;
}

/** What a weekly review is about, in its order. */
export function reportContent(review: WeeklyReport): Content {
  const { topics, showsText, density, cut } = review;
  const marks = review.deployments.map(deploymentMark);
  return [
    cut.length > 0 && callout(`Not all of it is here: there are too many ${cut.join(', ')}. Choose a shorter time.`),
    section('glance', 'At a glance', {}, glance(review)),
    scoresPart(review, marks),
    incidentsPart(review),
    densityPart(review, marks),
    topicsSection(topics, showsText, density.isWatched, 'Topics to write about'),
    goldenHealthPart(review),
    pagesPart(review),
  ];
}

function glance({ sets, incidents, density, topics, from, until }: WeeklyReport): ContentNode {
  const critical = incidents.filter(({ severity }) => severity === 'critical').length;
  const latest = density.series.query_density.at(-1);
  const { pages, suspect } = pageStatistics(incidents, from, until);
  const accepted = density.budget === null ? null : acceptedText(density.budget, until.getTime() - from.getTime());
  return facts(
    ...sets.map(headlineOf),
    incidents.length === 0
      ? fact('Incidents', 'none', 'nothing was in alarm')
      : fact('Incidents', incidents.length, `${critical} critical`),
    latest === undefined
      ? fact('Query density', 'no value', 'none was measured in this time')
      : fact('Query density', bounded(latest, 'ratio'), '1 is as in the reference'),
    topics.length === 0
      ? fact('Topics to write about', 'none', 'none is known')
      : fact('Topics to write about', topics.length, 'uncovered as of now'),
    pages === 0
      ? fact('Pages', 'none', accepted === null ? 'nothing became critical' : `budget of false ones: ${accepted}`)
      : fact('Pages', pages, `${plural(suspect, 'of them looks', 'of them look')} false`),
  );
}

/** Whatever the texts in it say, a browser loads and runs nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** @returns a whole HTML document: style sheet and plots inside, no script, nothing to load */
export function renderReport(props: ReportProps): string {
  return renderDocument(<Report {...props} />);
}

function Report({ review, now, version, style }: ReportProps) {
  const { pipeline, from, until } = review;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content={POLICY} />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`Review of ${pipeline}, ${minute(from)} to ${minute(until)} · recalld`}</title>
        <style dangerouslySetInnerHTML={{ __html: style }} />
      </head>
      <body class="report">
        <main>
          <div class="title-row">
            <div class="title-words">
              <p class="over-title">Retrieval quality review</p>
              <h1>{pipeline}</h1>
              <p class="report-span">
                <time datetime={from.toISOString()}>{minute(from)}</time> to{' '}
                <time datetime={until.toISOString()}>{minute(until)}</time> UTC,{' '}
                {duration((until.getTime() - from.getTime()) / 1000)}
              </p>
            </div>
          </div>
          {shown(reportContent(review), { from, until, now, frame: null })}
        </main>
        <footer class="foot">
          <p>
            recalld {version} · written <time datetime={now.toISOString()}>{minute(now)}</time> UTC, in which all times
            are shown. Intervals and bands are 95 %.
          </p>
        </footer>
      </body>
    </html>
  );
}
