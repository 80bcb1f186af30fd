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
  /** A sentence that the table omits, because `about` states it once for all metrics of the group. */
  readonly omits?: string;
}

const scores = new RegExp(`^recalld_golden_(${[...goldenMeasures, ...gainMeasures].join('|')})(_ci_low|_ci_high)?$`);

/** A metric belongs to the first group whose pattern it matches; the last group matches all. */
const groups: readonly Group[] = [
  {
    title: 'Golden scores',
    about:
      'Scores of the latest completed run of each golden set, by segment and cutoff, with 95 % confidence intervals of the mean. Scores cover all judged queries; queries that failed or returned no results count as 0.',
    holds: scores,
    omits: ' Covers all judged queries; queries that failed or returned no results count as 0.',
  },
  {
    title: 'Golden runs',
    about:
      'State of the golden runs. Alert on the age of the runs first, because a withheld score violates no threshold.',
    holds: /^recalld_golden_/,
  },
  {
    title: 'Checks',
    about:
      'recalld exports thresholds as metrics, so alert rules compare two series, and thresholds are set only in the config.',
    holds: /^recalld_(check|threshold)/,
  },
  {
    title: 'Query density',
    about: 'How well the documents in the store cover live queries compared with a baseline.',
    holds: /^recalld_(query_(density|uncovered)|density|repeat_density|topics)/,
  },
  {
    title: 'Judged live relevance',
    about: 'Scores of live queries, from the grades of a judge and of people, and the quality of these grades.',
    holds:
      /^recalld_(live_(judged|ndcg|precision|hit_rate|mrr|drop)|episode_(judged|hit_rate)|rewrite_(judged|gain)|judge_|human_|evaluation_)/,
  },
  {
    title: 'Live traffic',
    about: 'Each process exports counters and histograms of the traffic that it received: sum them over replicas.',
    holds: /^recalld_(quer(y|ies)|feedback|ingest|live|episode|rewrite|trace|redaction)_/,
  },
  {
    title: 'Store, index and embedder',
    about: 'Probes of the vector store, its index and the embedder, and the comparison of the store with its manifest.',
    holds: /^recalld_(store|index|ann|embed|missed_documents|probe)/,
  },
  {
    title: 'Shadows and variants',
    about: 'Comparisons of shadows and variants with their baselines.',
    holds: /^recalld_(experiment|shadow|variant)/,
  },
  {
    title: 'Diagnosis and notifications',
    about: 'Diagnoses, notifications, and the normal ranges of measures that have no alert of their own.',
    holds: /^recalld_(diagnosis|notifications|silenced|normal_range|measure_)/,
  },
  {
    title: 'recalld itself',
    about: 'Each process also exports the usual `process_*` and `nodejs_*` metrics.',
    holds: /^recalld_/,
  },
];

const reading = `How to read the metrics:

- **n.** Every golden score is a mean over *all* judged queries of its segment. A query that failed, timed out or returned nothing counts as 0. \`recalld_golden_scored_queries\` is n.
- **Intervals.** Each score has \`_ci_low\` and \`_ci_high\`. A critical check on a score pages only if the whole interval is below the threshold,
  so sampling noise does not cause pages.
- **Withholding.** recalld does not export scores older than three scheduled intervals (three days for sets without a schedule);
  \`recalld_golden_scores_withheld\` is then 1. No value is ever NaN.
- **Snapshot.** Gauges marked *stored* come from the latest database rows. Each process reads these rows into memory every
  10 seconds, so a scrape never waits for the database. \`recalld_snapshot_age_seconds\` is the age of the rows.
- **Replicas.** Every replica exports the same *stored* values: aggregate with
  \`max by (pipeline, golden_set, segment, k) (...)\`, never \`sum\`. For metrics marked *process*, use \`sum\` over \`rate\`.
- **OTLP.** With \`metrics.otlp: {url: ...}\`, every process also sends metrics via OTLP over HTTP as JSON, every \`interval_seconds\` and before it exits. These metrics have the same names and labels, and no units, so the rules also work in a Prometheus with \`--web.enable-otlp-receiver\`. The label \`job\` is the \`service.name\`, \`recalld\`. The key \`send\` selects metrics, [scores of live queries](../how-to/judging.md#send-scores-to-your-tracing-platform), or both.
- **Scraping.** No metric has a label that Prometheus assigns to targets (\`job\`, \`instance\`, \`namespace\`), so
  \`honor_labels\` is not needed.

To list the metrics:

\`\`\`sh
curl -s http://127.0.0.1:8321/metrics | grep -v '^#'
\`\`\``;

export function metricsPage(): Page {
  const metrics = Object.entries<MetricDefinition>(metricCatalogue).map(([name, definition]) => ({
    name,
    ...definition,
  }));
  const sections = groups.flatMap((group) => {
    const members = metrics.filter((metric) => groups.find(({ holds }) => holds.test(metric.name)) === group);
    return members.length === 0 ? [] : [`## ${group.title}`, group.about, metricTable(members, group.omits)];
  });
  const labels = [...new Set(metrics.flatMap((metric) => metric.labels))];
  return generatedPage(
    'docs/reference/metrics.md',
    ['src/platform/metrics/catalogue.ts'],
    [
      '# Metrics',
      '`/metrics` exports these metrics in the Prometheus text format.',
      reading,
      ...sections,
      '## Labels',
      'The number of values of each label is limited. Labels never contain query text, or ids of queries, documents, users or runs.',
      table(
        ['Label', 'Values'],
        labels.map((label) => [code(label), labelMeanings[label] ?? '']),
      ),
    ],
  );
}

function metricTable(metrics: readonly Metric[], omitted = ''): string {
  const rows = metrics
    .filter(({ name }) => !isBound(name))
    .map(({ name, type, source, labels, help, buckets }) => {
      const names = [name, `${name}_ci_low`, `${name}_ci_high`].filter((each) =>
        metrics.some((metric) => metric.name === each),
      );
      const limits = buckets === undefined ? '' : ` Buckets: ${buckets.join(', ')}.`;
      return [
        names.map(code).join('<br>'),
        `${type}, ${source}`,
        labels.map(code).join(', '),
        `${help.replace(omitted, '')}${limits}`,
      ];
    });
  return table(['Name', 'Type', 'Labels', 'Meaning'], rows);
}

/** True for the bounds of a score, which the table lists in the score's own row. */
function isBound(name: string): boolean {
  return /_ci_(low|high)$/.test(name) && name.replace(/_ci_(low|high)$/, '') in metricCatalogue;
}
