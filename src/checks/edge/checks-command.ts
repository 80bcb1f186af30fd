/** `recalld checks`: where every check stands, and when it changed. */

import type { Command } from 'commander';
import { z } from 'zod';
import {
  type CommandSettings,
  commandSettings,
  withCommandStore,
  withWatchedStore,
} from '../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../app/pipelines.ts';
import { EXIT_CHECK_FAILED } from '../../cli/exit.ts';
import {
  ageText,
  type ConfiguredOptions,
  formatTable,
  parseCount,
  parseTime,
  printJson,
  printLine,
  withConfig,
} from '../../cli/output.ts';
import { toWire } from '../../platform/http/wire.ts';
import { createCheckStore, readCheckStates, type TransitionFilter } from '../check-store.ts';
import { type CheckStateJson, checkStateJson, type TransitionJson, transitionSchema } from './routes.ts';

interface ChecksOptions extends ConfiguredOptions {
  readonly pipeline?: string;
  readonly history?: boolean;
  readonly check?: string;
  readonly since?: Date;
  readonly limit: number;
}

export function checksCommand(command: Command, signal: AbortSignal): Command {
  return withConfig(command, 'recalld checks --pipeline support-docs --history --since 2026-11-01T00:00:00Z')
    .option('--pipeline <name>', 'only those of this pipeline')
    .option('--history', 'changes of verdicts, newest first')
    .option('--check <name>', 'of the history, only this check')
    .option('--since <time>', 'of the history, only what changed from then on', parseTime)
    .option('--limit <n>', 'of the history, at most so many', parseCount, 20)
    .action(async (options: ChecksOptions) => {
      const settings = commandSettings(options.config, signal);
      if (options.history === true) {
        const { pipeline, check, since, limit } = options;
        const found = await listTransitions(settings, {
          limit,
          ...(pipeline === undefined ? {} : { pipeline }),
          ...(check === undefined ? {} : { check }),
          ...(since === undefined ? {} : { since }),
        });
        if (options.json === true) printJson(found);
        else printLine(formatHistory(found));
        return;
      }
      const found = await listChecks(settings, options.pipeline ?? null);
      if (options.json === true) printJson(found);
      else printLine(formatChecks(found));
      if (found.some(({ verdict }) => verdict === 'critical')) process.exitCode = EXIT_CHECK_FAILED;
    });
}

/** A table of the checks, with the reason of each that is not ok below. */
export function formatChecks(checks: readonly CheckStateJson[]): string {
  if (checks.length === 0) return 'No check is configured; add some under `checks` of a pipeline.';
  const head = ['pipeline', 'check', 'severity', 'verdict', 'judged', 'value', 'threshold'];
  const rows = checks.map((check) => [
    check.pipeline,
    check.name,
    check.severity,
    check.blind ? 'blind' : check.quiet ? `${check.verdict} (quiet)` : check.verdict,
    check.evaluated_at ?? '-',
    check.value === null ? '-' : shown(check.value),
    shown(check.threshold),
  ]);
  const reasons = checks
    .filter(({ verdict, blind }) => verdict !== 'ok' || blind)
    .map(
      ({ pipeline, name, explanation, too_old }) =>
        `${pipeline}, ${name}: ${too_old ? 'what judged it last is too old to trust. ' : ''}${explanation ?? 'nothing has judged it yet.'}`,
    );
  return [formatTable(head, rows, 5), ...(reasons.length === 0 ? [] : ['', ...reasons])].join('\n');
}

function formatHistory(transitions: readonly TransitionJson[]): string {
  if (transitions.length === 0) return 'No check has changed its verdict within that time.';
  const rows = transitions.map(({ occurred_at, ended_at, pipeline, check, from, to, explanation }) => [
    occurred_at,
    pipeline,
    check,
    `${from ?? 'new'} -> ${to}`,
    ended_at === null ? 'still' : ageText((Date.parse(ended_at) - Date.parse(occurred_at)) / 1000),
    explanation,
  ]);
  return formatTable(['when', 'pipeline', 'check', 'verdict', 'lasted', 'why'], rows);
}

/** Four decimals as everywhere, without those that are zero. */
function shown(value: number): string {
  return String(Number(value.toFixed(4)));
}

/**
 * Where every check stands, in the order of the config.
 *
 * @param pipeline null for all
 * @throws RecalldError pipeline_unknown, and as withCommandStore
 */
export async function listChecks(settings: CommandSettings, pipeline: string | null): Promise<CheckStateJson[]> {
  if (pipeline !== null) assertConfiguredPipeline(settings.config, pipeline);
  return withWatchedStore(settings, async (store) => {
    const states = await readCheckStates(store);
    return states
      .filter((state) => pipeline === null || state.pipeline === pipeline)
      .map((state) => checkStateJson(state, store.clock.now()));
  });
}

/**
 * When checks changed, newest first.
 *
 * @throws RecalldError pipeline_unknown, and as withCommandStore
 */
export async function listTransitions(settings: CommandSettings, filter: TransitionFilter): Promise<TransitionJson[]> {
  if (filter.pipeline !== undefined) assertConfiguredPipeline(settings.config, filter.pipeline);
  return withCommandStore(settings, async ({ storage: { pool } }) =>
    toWire(z.array(transitionSchema), await createCheckStore(pool).transitions(filter)),
  );
}
