/** `recalld report`: writes a pipeline's weekly report as one HTML file. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { z } from 'zod';
import { commandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { version } from '../../app/version.ts';
import { printJson, printLine, withConfig } from '../../cli/output.ts';
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
import { renderReport, reportMarkdown, reportSlack } from './report/report-page.tsx';
import { type ReportedSet, readWeeklyReport, type WeeklyReport } from './weekly-report.ts';

/** The relative path is the same from the compiled file and from the source. */
const assets = path.join(import.meta.dirname, '../../../src/report/console/assets');

const formats = ['html', 'markdown', 'slack'] as const;

async function rendered(report: WeeklyReport, format: (typeof formats)[number]): Promise<string> {
  const now = systemClock.now();
  if (format === 'markdown') return reportMarkdown(report, now);
  if (format === 'slack') return `${JSON.stringify(reportSlack(report, now))}\n`;
  const sheets = ['style.css', 'report.css'].map((name) => readFile(path.join(assets, name), 'utf8'));
  return renderReport(report, now, version, (await Promise.all(sheets)).join('\n'));
}

export function reportCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(
    command,
    'recalld report\n  recalld report --pipeline support-docs --from 2026-11-13 --to 2026-11-20 --out report.html\n  recalld report --format slack | curl --json @- "$SLACK_WEBHOOK_URL"',
  )
    .option('--pipeline <name>', 'the pipeline (default: the only one in the config)')
    .option('--from <time>', 'start of the period or its length, such as 7d (default: 7d)')
    .option('--to <time>', 'end of the period (default: now)')
    .addOption(new Option('--format <format>', 'format of the report').choices(formats).default('html'))
    .option('--out <file>', 'file to write (default: report.html for HTML, otherwise standard output)')
    .option('--force', 'overwrite an existing file')
    .action(async ({ config, format, force = false, json, ...options }) => {
      const settings = commandSettings(config, signal);
      const pipelines = settings.config.pipelines.map(({ name }) => name);
      const scope = readReportOptions(options, pipelines, systemClock.now());
      const out = options.out ?? (format === 'html' ? 'report.html' : null);
      const report = await withCommandStore(settings, (store) => readWeeklyReport(store, scope));
      const text = await rendered(report, format);
      if (out !== null) await writeText(out, text, force);
      if (json === true) printJson({ file: out, ...reportJson(report) });
      else printLine(out === null ? text.trimEnd() : `Wrote the report on ${scope.pipeline} to ${out}.`);
    });
}

/** Uses the names and units of the HTTP API. */
function reportJson(report: WeeklyReport) {
  const { pipeline, from, until, sets, incidents, density, topics, deployments, truncated } = report;
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
      events: density.events.map(({ kind, occurredAt, sentence }) => toDocument({ kind, occurredAt, sentence })),
    },
    topics: topics.map(({ topic, texts, windows }) => topicJson(topic, texts, windows)),
    deployments: toWire(z.array(deploymentSchema), deployments),
    incomplete: [...truncated],
  };
}

function setJson({ goldenSet, version, runs, last, representativeness }: ReportedSet) {
  return {
    golden_set: goldenSet,
    version: version === null ? null : goldenSetVersionJson(version),
    runs: runs.map(({ runId, goldenSetVersion, status, startedAt, scores }) =>
      toDocument({ runId, goldenSetVersion, status, startedAt, scores }),
    ),
    last: last && {
      run_id: last.run.id,
      scores: toDocument(last.scores),
      baseline_run_id: last.baseline?.against ?? null,
    },
    representativeness: representativeness && valueJson(representativeness),
  };
}

function valueJson({ windowEnd, value, ciLow, ciHigh, n }: Measurement) {
  return toDocument({ windowEnd, value, ciLow, ciHigh, n });
}

export interface ReportOptions {
  readonly pipeline?: string;
  readonly from?: string;
  readonly to?: string;
}

const DEFAULT_LENGTH = '7d';
const lengthSchema = durationSchema('1m', '36500d');

/**
 * Validates the options of the command. `until` is exclusive.
 *
 * @throws RecalldError usage, with all problems in one message
 */
export function readReportOptions(options: ReportOptions, pipelines: readonly string[], now: Date) {
  const { from: start = DEFAULT_LENGTH, to: end } = options;
  const pipeline = options.pipeline ?? (pipelines.length === 1 ? pipelines[0] : undefined);
  const until = end === undefined ? now : readTime(end);
  const from = readStart(start, until ?? now);
  const problems: string[] = [];
  if (pipelines.length === 0) problems.push('the config has no pipeline; add a pipeline under `pipelines`');
  else if (pipeline === undefined || !pipelines.includes(pipeline)) {
    const not = pipeline === undefined ? '' : `, not "${pipeline}"`;
    problems.push(`--pipeline must name one of ${pipelines.join(', ')}${not}`);
  }
  if (from === null)
    problems.push(`--from must be a length such as 7d or a time such as 2026-11-13T15:45:00Z, not "${start}"`);
  if (until === null) problems.push(`--to must be a time such as 2026-11-20T15:45:00Z, not "${end}"`);
  if (from !== null && until !== null && from >= until) problems.push('--from must be before --to');
  if (pipeline === undefined || from === null || until === null || problems.length > 0) {
    throw new RecalldError('usage', `Cannot write the report: ${problems.join('; ')}.`);
  }
  return { pipeline, from, until };
}

/** Parses the start of a period: a time, or the length of the period that ends at `until`. */
function readStart(text: string, until: Date): Date | null {
  return lengthSchema.safeParse(text).success ? new Date(until.getTime() - durationMs(text)) : readTime(text);
}

function readTime(text: string): Date | null {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? null : time;
}
