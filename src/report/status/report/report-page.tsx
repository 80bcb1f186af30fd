/** A review of one pipeline over a span of time, as one document that needs no server and nothing else. */
import { renderToString } from 'preact-render-to-string';
import { duration, minute, plural } from '../../../core/format.ts';
import { DensityPart, Topics } from '../../../density/edge/sections.tsx';
import { GoldenHealthPart, headlineOf, ScoresPart } from '../../../golden/edge/pages/scores-part.tsx';
import { acceptedText, IncidentsPart, PagesPart } from '../../../incidents/diagnosis/edge/pages/incident-page.tsx';
import { pageStatistics } from '../../../incidents/diagnosis/rules/incident.ts';
import { deploymentMark } from '../../../live/deployments/edge/deployments-page.tsx';
import { type Fact, Facts, Section } from '../../console/components.tsx';
import type { Review } from '../read-review.ts';

interface ReportProps {
  readonly review: Review;
  /** When it was written. */
  readonly now: Date;
  readonly version: string;
  /** The style sheet, whole. */
  readonly style: string;
}

/** Whatever the texts in it say, a browser loads and runs nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** @returns a whole HTML document: style sheet and plots inside, no script, nothing to load */
export function renderReport(props: ReportProps): string {
  return `<!doctype html>\n${renderToString(<Report {...props} />)}\n`;
}

function Report({ review, now, version, style }: ReportProps) {
  const { pipeline, from, until, topics, showsText, density, cut } = review;
  const marks = review.deployments.map(deploymentMark);
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
          {cut.length === 0 ? null : (
            <p class="alarm" role="note">
              Not all of it is here: there are too many {cut.join(', ')}. Choose a shorter time.
            </p>
          )}
          <Section id="glance" title="At a glance">
            <Facts facts={glance(review)} />
          </Section>
          <ScoresPart review={review} marks={marks} />
          <IncidentsPart review={review} />
          <DensityPart review={review} marks={marks} />
          <Topics
            topics={topics}
            showsText={showsText}
            now={now}
            isWatched={density.isWatched}
            title="Topics to write about"
          />
          <GoldenHealthPart review={review} />
          <PagesPart review={review} />
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

function glance({ sets, incidents, density, topics, from, until }: Review): Fact[] {
  const critical = incidents.filter(({ severity }) => severity === 'critical').length;
  const latest = density.series.query_density.at(-1);
  const { pages, suspect } = pageStatistics(incidents, from, until);
  const accepted = density.budget === null ? null : acceptedText(density.budget, until.getTime() - from.getTime());
  return [
    ...sets.map(headlineOf),
    {
      name: 'Incidents',
      value: incidents.length === 0 ? 'none' : String(incidents.length),
      detail: incidents.length === 0 ? 'nothing was in alarm' : `${critical} critical`,
    },
    {
      name: 'Query density',
      value: latest === undefined ? 'no value' : latest.value.toFixed(2),
      detail:
        latest === undefined
          ? 'none was measured in this time'
          : latest.ciLow === null || latest.ciHigh === null
            ? '1 is as in the reference'
            : `${latest.ciLow.toFixed(2)} to ${latest.ciHigh.toFixed(2)}; 1 is as in the reference`,
    },
    {
      name: 'Topics to write about',
      value: topics.length === 0 ? 'none' : String(topics.length),
      detail: topics.length === 0 ? 'none is known' : 'uncovered as of now',
    },
    {
      name: 'Pages',
      value: pages === 0 ? 'none' : String(pages),
      detail:
        pages === 0
          ? accepted === null
            ? 'nothing became critical'
            : `budget of false ones: ${accepted}`
          : `${plural(suspect, 'of them looks', 'of them look')} false`,
    },
  ];
}
