/** `recalld diagnose`: what is likely behind what is in alarm. */
import type { Command } from 'commander';
import { commandSettings, withWatchedStore } from '../../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../../app/pipelines.ts';
import { EXIT_CHECK_FAILED } from '../../../cli/exit.ts';
import { type ConfiguredOptions, printJson, printLine, styled, withConfig } from '../../../cli/output.ts';
import { type PipelineDiagnosis, readDiagnoses } from '../diagnose-pipeline.ts';
import type { FindingsJson } from '../incident-schema.ts';
import { effectsText } from '../rules/also-causes.ts';
import { probabilityText } from '../rules/cause.ts';

/** Candidates that are shown beside the first. */
const OTHERS_SHOWN = 2;
const MIN_SHOWN = 0.01;

export function diagnoseCommand(command: Command, signal: AbortSignal): Command {
  return withConfig(command, 'recalld diagnose --pipeline support-docs')
    .option('--pipeline <name>', 'only this pipeline')
    .action(async ({ pipeline = null, config, json }: ConfiguredOptions & { readonly pipeline?: string | null }) => {
      const settings = commandSettings(config, signal);
      if (pipeline !== null) assertConfiguredPipeline(settings.config, pipeline);
      const found = await withWatchedStore(settings, (store) => readDiagnoses(store, pipeline));
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
    also,
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
    ...also.map(
      (one) =>
        `Likely cause of ${effectsText(one)}: ${styled('bold', nameOf(one.cause))} (${one.confidence} confidence, ${probabilityText(one.probability)})`,
    ),
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
