/** docs/reference/metrics.md: every metric of the catalogue, in groups. */

import { gainMeasures } from '../../src/golden/rules/run.ts';
import { goldenMeasures } from '../../src/golden/rules/score-run.ts';
import { metricCatalogue } from '../../src/platform/metrics/catalogue.ts';
import type { MetricDefinition } from '../../src/platform/metrics/definition.ts';
import { labelMeanings } from './label-meanings.ts';
import { code, generatedPage, type Page, table } from './page.ts';

interface Metric extends MetricDefinition {
  readonly name: string;
}

interface Group {
  readonly title: string;
  readonly about: string;
  readonly holds: RegExp;
}

const scores = new RegExp(`^recalld_golden_(${[...goldenMeasures, ...gainMeasures].join('|')})(_ci_low|_ci_high)?$`);

/** A metric is in the first group whose pattern it matches; the last one takes what is left. */
const groups: readonly Group[] = [
  {
    title: 'Golden scores',
    about:
      'Of the latest completed run of each golden set, by segment and cut-off. The bounds are a 95 % confidence interval of the mean, with the mean always between them.',
    holds: scores,
  },
  {
    title: 'Golden runs',
    about:
      'How the runs themselves fare: alarm on their age first, since a score that is withheld breaches no threshold.',
    holds: /^recalld_golden_/,
  },
  {
    title: 'Checks',
    about:
      'The thresholds are metrics, so that a rule compares series with series and the config stays the one place that states them.',
    holds: /^recalld_(check|threshold)/,
  },
  {
    title: 'Live traffic',
    about: 'Counters and histograms are of the process that received the traffic: sum them over replicas.',
    holds: /^recalld_(quer(y|ies)|feedback|ingest)_/,
  },
  {
    title: 'recalld itself',
    about: 'Beside these, the usual `process_*` and `nodejs_*` metrics.',
    holds: /^recalld_/,
  },
];

const reading = `How to read them:

- **n and the denominator.** Every golden score is a mean over *all* judged queries of its segment: a query that failed,
  timed out or came back empty counts 0 and stays in. \`recalld_golden_scored_queries\` is that n.
- **Bounds.** Each score has \`_ci_low\` and \`_ci_high\`. A critical check fires on the upper bound, so that the luck of
  the draw of queries wakes nobody.
- **Withholding.** Scores older than three intervals of their schedule (three days for a set that runs by hand) are not
  exported, and \`recalld_golden_scores_withheld\` is 1. No value is ever NaN.
- **Snapshot.** Gauges marked *stored* are made of the latest rows of the database, which each process keeps in memory.
  It reads them every 10 seconds, and behind a scrape that finds them older than a second; a scrape never waits for the
  database. \`recalld_snapshot_age_seconds\` is their age, and what is too old to trust at the time of the scrape is
  withheld, however long ago the database last answered.
- **Replicas.** Gauges marked *stored* come from the database, so every replica exports the same
  values: aggregate them with \`max by (pipeline, golden_set, segment, k) (...)\`, never with \`sum\`. Metrics marked
  *process* are the process's own: use \`sum\` over \`rate\`.
- **OTLP.** With \`metrics.otlp: {url: ...}\` every process sends the same by OTLP over HTTP too, in its JSON form, every minute
  (\`interval_seconds\`) and once more when it ends: to an OpenTelemetry Collector, or to any backend that takes it. Names and labels stay, and no
  unit is named, so that a Prometheus behind it (\`--web.enable-otlp-receiver\`) has the series of the rules; \`job\` is
  \`service.name\`, \`recalld\`. The log says when it begins to fail and when it is well again. \`send\` says what goes there: metrics
  unless it is told otherwise, and [scores of live queries](../how-to/judging.md#send-scores-to-your-tracing-platform).
- **Scraping.** No metric has a label that Prometheus gives to targets (\`job\`, \`instance\`, \`namespace\`): the scrape config
  needs no \`honor_labels\`.`;

export function metricsPage(): Page {
  const metrics = Object.entries<MetricDefinition>(metricCatalogue).map(([name, definition]) => ({
    name,
    ...definition,
  }));
  const sections = groups.flatMap((group) => {
    const members = metrics.filter((metric) => groups.find(({ holds }) => holds.test(metric.name)) === group);
    return members.length === 0 ? [] : [`## ${group.title}`, group.about, metricTable(members)];
  });
  const labels = [...new Set(metrics.flatMap((metric) => metric.labels))];
  return generatedPage(
    'docs/reference/metrics.md',
    ['src/platform/metrics/catalogue.ts'],
    [
      '# Metrics',
      'What `/metrics` exports, in the Prometheus text format.',
      reading,
      ...sections,
      '## Labels',
      'Their values are few: never the text of a query, nor the id of a query, document, user or run.',
      table(
        ['Label', 'Values'],
        labels.map((label) => [code(label), labelMeanings[label] ?? '']),
      ),
    ],
  );
}

function metricTable(metrics: readonly Metric[]): string {
  const rows = metrics
    .filter(({ name }) => !isBound(name))
    .map(({ name, type, source, labels, help, buckets }) => {
      const names = [name, `${name}_ci_low`, `${name}_ci_high`].filter((each) =>
        metrics.some((metric) => metric.name === each),
      );
      const limits = buckets === undefined ? '' : ` Buckets: ${buckets.join(', ')}.`;
      return [names.map(code).join('<br>'), `${type}, ${source}`, labels.map(code).join(', '), `${help}${limits}`];
    });
  return table(['Name', 'Type', 'Labels', 'Meaning'], rows);
}

/** The bounds of a score stand in the row of the score. */
function isBound(name: string): boolean {
  return /_ci_(low|high)$/.test(name) && name.replace(/_ci_(low|high)$/, '') in metricCatalogue;
}
