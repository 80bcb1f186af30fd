/** `recalld diagnose`: what is likely behind what is in alarm. */
import type { Command } from 'commander';
import { type CommandSettings, commandSettings, withWatchedStore } from '../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../app/pipelines.ts';
import { type ConfiguredOptions, configuredCommand } from '../cli/configured-command.ts';
import { EXIT_CHECK_FAILED } from '../cli/exit-code.ts';
import { printJson, printLine, styled } from '../cli/output.ts';
import { diagnoseNow } from './diagnose-pipeline.ts';
import { type FindingsJson, findingsJson, type IncidentJson, incidentJson } from './routes.ts';
import { probabilityText } from './rules/cause.ts';

interface DiagnoseOptions extends ConfiguredOptions {
  readonly pipeline?: string | null;
}

/** Candidates that are shown beside the first. */
const OTHERS_SHOWN = 2;
const MIN_SHOWN = 0.01;

export function diagnoseCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'diagnose',
    'Say what is likely behind the checks that are in alarm, with the evidence; exit 1 while something is.',
    'recalld diagnose --pipeline support-docs',
  )
    .option('--pipeline <name>', 'only this pipeline')
    .action(async ({ pipeline = null, config, json }: DiagnoseOptions) => {
      const found = await readDiagnoses(commandSettings(config, signal), pipeline);
      if (json === true) printJson(found);
      else printLine(found.map(formatDiagnosis).join('\n\n'));
      if (found.some(({ now }) => now !== null)) process.exitCode = EXIT_CHECK_FAILED;
    });
}

function formatDiagnosis({ pipeline, latest, now }: PipelineDiagnosis): string {
  const name = styled('bold', pipeline);
  if (now !== null) {
    const since = latest === null || latest.closed_at !== null ? '' : ` since ${latest.opened_at}`;
    return [`${name} is in alarm${since}.`, ...linesOf(now)].join('\n');
  }
  if (latest === null) return `${name}: nothing is in alarm.`;
  const until = latest.closed_at === null ? '' : ` to ${latest.closed_at}`;
  return [
    `${name}: nothing is in alarm. It last was from ${latest.opened_at}${until}.`,
    ...latest.course.map(({ name: alarm, worst }) => `At its worst, ${alarm}: ${worst.text}`),
    ...linesOf(latest),
  ].join('\n');
}

function linesOf(findings: FindingsJson): string[] {
  const {
    cause,
    confidence,
    probability,
    alternatives,
    tell_apart: look,
    alarms,
    causes,
    action,
    run_id: run,
  } = findings;
  const first = causes.find((one) => one.cause === cause);
  const undecided = alternatives.map((one) => `${nameOf(one.cause)} (${probabilityText(one.probability)})`);
  const others = causes
    .filter((one) => one.cause !== cause && one.cause !== 'unknown' && one.probability >= MIN_SHOWN)
    .slice(0, OTHERS_SHOWN);
  return [
    `Likely cause: ${[`${styled('bold', nameOf(cause))} (${confidence} confidence, ${probabilityText(probability)})`, ...undecided].join(' or ')}`,
    ...(first?.supporting ?? []).map((sentence) => `  + ${sentence}`),
    ...(first?.opposing ?? []).map((sentence) => `  - ${sentence}`),
    ...(look === null ? [] : [look]),
    `What to do: ${action}`,
    ...others.map(
      (other) =>
        `Or: ${nameOf(other.cause)} (${probabilityText(other.probability)})${other.supporting[0] === undefined ? '' : `: ${other.supporting[0]}`}`,
    ),
    `In alarm: ${alarms.join('; ')}`,
    ...(run === null ? [] : [`Look further: recalld runs show ${run}${compareHint(findings)}`]),
  ];
}

function nameOf(cause: string): string {
  return cause.replaceAll('_', ' ');
}

function compareHint({ run_id: run, reference_run_id: reference }: FindingsJson): string {
  return reference === null ? '' : `, recalld runs compare ${reference} ${run ?? ''}`;
}

/** What `recalld diagnose` does with the database of the config. */
export interface PipelineDiagnosis {
  readonly pipeline: string;
  /** The latest incident that the daemon kept, as it was; null when it found nothing in alarm ever. */
  readonly latest: IncidentJson | null;
  /** What is likely now, by what is stored; null when nothing is in alarm. */
  readonly now: FindingsJson | null;
}

/**
 * @param only name of one pipeline; null for all of the config
 * @throws RecalldError pipeline_unknown, and as withWatchedStore
 */
async function readDiagnoses(settings: CommandSettings, only: string | null): Promise<readonly PipelineDiagnosis[]> {
  if (only !== null) assertConfiguredPipeline(settings.config, only);
  return withWatchedStore(settings, async (store) => {
    const answers: PipelineDiagnosis[] = [];
    for (const pipeline of store.pipelines.filter(({ name }) => only === null || name === only)) {
      const [latest] = await store.incidents.list({ pipeline: pipeline.name, limit: 1 });
      const found = await diagnoseNow(store, pipeline);
      answers.push({
        pipeline: pipeline.name,
        latest: latest === undefined ? null : incidentJson(latest),
        now: found === null ? null : findingsJson(found),
      });
    }
    return answers;
  });
}
