/** `recalld report`: the review of a pipeline as one file. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { type CommandSettings, commandSettings, withWatchedStore } from '../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../app/pipelines.ts';
import { version } from '../app/version.ts';
import { type ConfiguredOptions, configuredCommand, parseTime } from '../cli/configured-command.ts';
import { printJson, printLine } from '../cli/output.ts';
import { topicJson } from '../density/http-contract.ts';
import { deploymentJson } from '../deployments/routes.ts';
import { diagnosisJson } from '../diagnosis/routes.ts';
import { RecalldError } from '../errors.ts';
import { writeText } from '../files/text-file.ts';
import { goldenSetVersionJson } from '../golden/golden-set-schema.ts';
import type { SegmentScore } from '../golden/rules/run.ts';
import type { Measurement } from '../measures/rules/measurement.ts';
import { systemClock } from '../system-clock.ts';
import { type Review, type ReviewedIncident, type ReviewedSet, readReview } from './read-review.ts';
import { renderReport } from './report/report-page.tsx';

interface ReportRequest {
  readonly pipeline: string;
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
  /** Path of the file. */
  readonly out: string;
  /** Replaces a file that is there. */
  readonly force: boolean;
}

/** From the compiled file as from the source. */
const assets = path.join(import.meta.dirname, '../../src/console/assets');

/**
 * Reads the review and writes it as one HTML file.
 *
 * @throws RecalldError pipeline_unknown, usage for times that do not follow each other, file_unwritable, and as
 * withWatchedStore
 */
async function writeReport(settings: CommandSettings, request: ReportRequest): Promise<Review> {
  const { pipeline, from, until, out, force } = request;
  assertConfiguredPipeline(settings.config, pipeline);
  if (from >= until) throw new RecalldError('usage', '--from must be before --to; swap the two times.');
  const now = systemClock.now();
  const privacy = settings.config.pipelines.find(({ name }) => name === pipeline)?.privacy;
  const showsText = privacy?.text !== 'hash';
  const review = await withWatchedStore(settings, (store) => {
    const watched = store.pipelines.find(({ name }) => name === pipeline);
    if (watched === undefined) throw new RangeError(`The pipeline ${pipeline} is in the config but not watched.`);
    return readReview(store, { pipeline: watched, from, until, showsText });
  });
  const sheets = ['style.css', 'report.css'].map((name) => readFile(path.join(assets, name), 'utf8'));
  const style = (await Promise.all(sheets)).join('\n');
  await writeText(out, renderReport({ review, now, version, style }), force);
  return review;
}

interface ReportOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly from: Date;
  readonly to?: Date;
  readonly out: string;
  readonly force?: boolean;
}

export function reportCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'report',
    'Write one HTML file for the weekly review: scores, incidents and their causes, density drift, topics to write about, health of the golden sets.',
    'recalld report --pipeline support-docs --from 2026-11-13 --to 2026-11-20 --out report.html',
  )
    .requiredOption('--pipeline <name>', 'the pipeline to review')
    .requiredOption('--from <time>', 'start of the time to review', parseTime)
    .option('--to <time>', 'end of the time to review (default: now)', parseTime)
    .option('--out <file>', 'HTML file to write', 'report.html')
    .option('--force', 'replace the file when it is there')
    .action(async ({ config, pipeline, from, to, out, force = false, json }: ReportOptions) => {
      const until = to ?? new Date();
      const request = { pipeline, from, until, out, force };
      const review = await writeReport(commandSettings(config, signal), request);
      if (json === true) printJson({ file: out, ...reviewJson(review) });
      else printLine(`The review of ${pipeline} is in ${out}.`);
    });
}

/** In the words and units of the HTTP API; times are ISO 8601 in UTC. */
function reviewJson(review: Review) {
  const { pipeline, from, until, sets, incidents, density, topics, deployments, cut } = review;
  return {
    pipeline,
    from: from.toISOString(),
    to: until.toISOString(),
    golden_sets: sets.map(setJson),
    incidents: incidents.map(incidentJson),
    density: {
      watched: density.isWatched,
      query_density: density.series.query_density.map(valueJson),
      query_uncovered_ratio: density.series.query_uncovered_ratio.map(valueJson),
      events: density.events.map(({ kind, occurredAt, sentence }) => ({
        kind,
        occurred_at: occurredAt.toISOString(),
        sentence,
      })),
    },
    topics: topics.map(({ topic, texts, windows }) => topicJson(topic, texts, windows)),
    deployments: deployments.map(deploymentJson),
    incomplete: [...cut],
  };
}

function setJson({ goldenSet, version, runs, last, representativeness }: ReviewedSet) {
  return {
    golden_set: goldenSet,
    version: version === null ? null : goldenSetVersionJson(version),
    runs: runs.map(({ runId, goldenSetVersion, status, startedAt, scores }) => ({
      run_id: runId,
      golden_set_version: goldenSetVersion,
      status,
      started_at: startedAt.toISOString(),
      scores: scores.map(scoreJson),
    })),
    last:
      last === null
        ? null
        : {
            run_id: last.run.id,
            scores: last.scores.map(scoreJson),
            baseline_run_id: last.baseline?.against ?? null,
          },
    representativeness: representativeness === null ? null : valueJson(representativeness),
  };
}

function scoreJson({ segment, measure, k, mean, n, ciLow, ciHigh, ciMethod }: SegmentScore) {
  return { segment, measure, k, mean, n, ci_low: ciLow, ci_high: ciHigh, ci_method: ciMethod };
}

function incidentJson(incident: ReviewedIncident) {
  const { check, severity, worst, openedAt, closedAt, durationMs, explanation, diagnoses } = incident;
  return {
    check,
    severity,
    worst,
    opened_at: openedAt?.toISOString() ?? null,
    closed_at: closedAt?.toISOString() ?? null,
    duration_seconds: durationMs / 1000,
    explanation,
    diagnoses: diagnoses.map(diagnosisJson),
  };
}

function valueJson({ windowEnd, value, ciLow, ciHigh, n }: Measurement) {
  return { window_end: windowEnd.toISOString(), value, ci_low: ciLow, ci_high: ciHigh, n };
}
