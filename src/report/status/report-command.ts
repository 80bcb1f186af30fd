/** `recalld report`: the review of a pipeline as one file. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { type CommandSettings, commandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { version } from '../../app/version.ts';
import { type ConfiguredOptions, printJson, printLine, withConfig } from '../../cli/output.ts';
import { RecalldError } from '../../core/errors.ts';
import { systemClock } from '../../core/system-clock.ts';
import { toDocument } from '../../core/text/names.ts';
import { topicJson } from '../../density/http-contract.ts';
import { goldenSetVersionJson } from '../../golden/golden-set-schema.ts';
import { incidentJson } from '../../incidents/diagnosis/incident-schema.ts';
import { deploymentSchema } from '../../live/deployments/edge/routes.ts';
import type { Measurement } from '../../measures/rules/measurement.ts';
import { durationMs, durationSchema } from '../../platform/config/times.ts';
import { writeText } from '../../platform/files/text-file.ts';
import { toWire } from '../../platform/http/wire.ts';
import { renderReport } from './report/report-page.tsx';
import { type ReportedSet, readWeeklyReport, type WeeklyReport } from './weekly-report.ts';

interface ReportRequest extends ReportedTime {
  /** Path of the file. */
  readonly out: string;
  /** Replaces a file that is there. */
  readonly force: boolean;
}

/** From the compiled file as from the source. */
const assets = path.join(import.meta.dirname, '../../../src/report/console/assets');

/**
 * Reads the review and writes it as one HTML file.
 *
 * @throws RecalldError file_unwritable, and as withCommandStore
 */
async function writeReport(settings: CommandSettings, request: ReportRequest): Promise<WeeklyReport> {
  const { pipeline, from, until, out, force } = request;
  const now = systemClock.now();
  const privacy = settings.config.pipelines.find(({ name }) => name === pipeline)?.privacy;
  const showsText = privacy?.text !== 'hash';
  const review = await withCommandStore(settings, (store) => {
    const watched = store.pipelines.find(({ name }) => name === pipeline);
    if (watched === undefined) throw new RangeError(`The pipeline ${pipeline} is in the config but not watched.`);
    return readWeeklyReport(store, { pipeline: watched, from, until, showsText });
  });
  const sheets = ['style.css', 'report.css'].map((name) => readFile(path.join(assets, name), 'utf8'));
  const style = (await Promise.all(sheets)).join('\n');
  await writeText(out, renderReport({ review, now, version, style }), force);
  return review;
}

interface ReportCommandOptions extends ConfiguredOptions, ReportOptions {
  readonly out: string;
  readonly force?: boolean;
}

export function reportCommand(command: Command, signal: AbortSignal): Command {
  return withConfig(
    command,
    'recalld report\n  recalld report --pipeline support-docs --from 2026-11-13 --to 2026-11-20 --out report.html',
  )
    .option('--pipeline <name>', 'the pipeline to review (default: the only one of the config)')
    .option('--from <time>', 'start of the time to review, or its length such as 7d (default: 7d)')
    .option('--to <time>', 'end of the time to review (default: now)')
    .option('--out <file>', 'HTML file to write', 'report.html')
    .option('--force', 'replace the file when it is there')
    .action(async ({ config, out, force = false, json, ...options }: ReportCommandOptions) => {
      const settings = commandSettings(config, signal);
      const pipelines = settings.config.pipelines.map(({ name }) => name);
      const time = readReportOptions(options, pipelines, systemClock.now());
      const review = await writeReport(settings, { ...time, out, force });
      if (json === true) printJson({ file: out, ...reviewJson(review) });
      else printLine(`The review of ${time.pipeline} is in ${out}.`);
    });
}

/** In the words and units of the HTTP API; times are ISO 8601 in UTC. */
function reviewJson(review: WeeklyReport) {
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
    deployments: toWire(z.array(deploymentSchema), deployments),
    incomplete: [...cut],
  };
}

function setJson({ goldenSet, version, runs, last, representativeness }: ReportedSet) {
  return {
    golden_set: goldenSet,
    version: version === null ? null : goldenSetVersionJson(version),
    runs: runs.map(({ runId, goldenSetVersion, status, startedAt, scores }) => ({
      run_id: runId,
      golden_set_version: goldenSetVersion,
      status,
      started_at: startedAt.toISOString(),
      scores: toDocument(scores),
    })),
    last:
      last === null
        ? null
        : {
            run_id: last.run.id,
            scores: toDocument(last.scores),
            baseline_run_id: last.baseline?.against ?? null,
          },
    representativeness: representativeness === null ? null : valueJson(representativeness),
  };
}

function valueJson({ windowEnd, value, ciLow, ciHigh, n }: Measurement) {
  return { window_end: windowEnd.toISOString(), value, ci_low: ciLow, ci_high: ciHigh, n };
}

/** As they were given. */
export interface ReportOptions {
  readonly pipeline?: string;
  readonly from?: string;
  readonly to?: string;
}

export interface ReportedTime {
  readonly pipeline: string;
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}

const DEFAULT_LENGTH = '7d';
const lengthSchema = durationSchema('1m', '36500d');

/**
 * @param pipelines the names that the config has
 * @throws RecalldError usage, with everything that is missing or wrong in one sentence
 */
export function readReportOptions(options: ReportOptions, pipelines: readonly string[], now: Date): ReportedTime {
  const { from: start = DEFAULT_LENGTH, to: end } = options;
  const pipeline = options.pipeline ?? (pipelines.length === 1 ? pipelines[0] : undefined);
  const until = end === undefined ? now : readTime(end);
  const from = readStart(start, until ?? now);
  const problems: string[] = [];
  if (pipelines.length === 0) problems.push('the config has no pipeline, add one under `pipelines`');
  else if (pipeline === undefined) problems.push(`--pipeline must name one of ${pipelines.join(', ')}`);
  else if (!pipelines.includes(pipeline)) {
    problems.push(`--pipeline must name one of ${pipelines.join(', ')}, not "${pipeline}"`);
  }
  if (from === null)
    problems.push(`--from must be a length such as 7d or a time such as 2026-11-13T15:45:00Z, not "${start}"`);
  if (until === null) problems.push(`--to must be a time such as 2026-11-20T15:45:00Z, not "${end}"`);
  if (from !== null && until !== null && from >= until) problems.push('--from must be before --to');
  if (pipeline === undefined || from === null || until === null || problems.length > 0) {
    throw new RecalldError('usage', `The report cannot be made: ${problems.join('; ')}.`);
  }
  return { pipeline, from, until };
}

/** A time, or a length of time before `until`. */
function readStart(text: string, until: Date): Date | null {
  return lengthSchema.safeParse(text).success ? new Date(until.getTime() - durationMs(text)) : readTime(text);
}

function readTime(text: string): Date | null {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? null : time;
}
