import { type Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import { z } from 'zod';
import { commandSettings, withCommandStore } from '../../../app/commands/command-store.ts';
import { configuredCommand, note, parseCount, printJson, printLine } from '../../../cli/output.ts';
import { createProgressBar } from '../../../cli/progress.ts';
import { plural } from '../../../core/format.ts';
import { commandUser } from '../../../platform/access/audit-log.ts';
import { toWire } from '../../../platform/http/wire.ts';
import { time } from '../../../report/model/show.ts';
import { tableText } from '../../../report/terminal.ts';
import { baselineSchema } from '../../endpoints.ts';
import { MIN_CLEAN_RUNS } from '../../rules/clean-runs.ts';
import type { GoldenRun } from '../../rules/run.ts';
import { pinRun, unpin } from '../../runs/pin-baseline.ts';
import { findCompleted } from '../../runs/stored-runs.ts';
import { powerOfSet } from '../../sets/check-golden-set.ts';
import { runGoldenSetNow } from './run.ts';
import { usesOf } from './sets.ts';

export function baselinesCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  command.addCommand(pinCommand(signal));
  command.addCommand(unpinCommand(signal));
  command.addCommand(listCommand(signal));
  return command;
}

function pinCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'pin',
    'Pin a completed run as the baseline for later runs of its set.',
    'recalld baselines pin 20261120T154500Z-3f9a1c2b --reruns 9',
  )
    .argument('<run>', 'id of the run')
    .option('--note <text>', 'a short reason')
    .option('--reruns <n>', 'repeat the run this many times first, to measure retriever noise', parseReruns, 0)
    .option(
      '--with-failures',
      'pin the run even if some of its queries failed; failed queries count as 0 in the baseline',
    )
    .action(async (runId, { config, note: why = null, reruns, withFailures = false, json }) => {
      const bar = createProgressBar('baseline');
      const settings = commandSettings(config, signal);
      const { baseline, runs, isDeterministic, warnings, power } = await withCommandStore(settings, async (store) => {
        const run = await findCompleted(store, runId);
        const { pipeline, goldenSet } = run;
        const again: GoldenRun[] = [];
        for (let count = 0; count < reruns; count += 1)
          again.push(await runGoldenSetNow(settings, store, pipeline, goldenSet, (progress) => bar.show(progress)));
        const usable = again.filter(
          ({ status, goldenSetVersion }) => status === 'completed' && goldenSetVersion === run.goldenSetVersion,
        );
        const now = new Date();
        const pin = { note: why, reruns: reruns > 0 ? usable : null, by: commandUser(), now, withFailures };
        const report = await pinRun(store, run, pin, signal);
        const uses = usesOf(settings.config, goldenSet).filter((use) => use.pipeline === pipeline);
        const found = uses.map((use) => powerOfSet(store.db.golden.baselines, use, run.queriesTotal, now));
        return { ...report, power: (await Promise.all(found)).flat() };
      }).finally(() => bar.end());
      if (json === true) {
        printJson({ ...toWire(listedBaseline, baseline), noise: baseline.noise, warnings, power });
        return;
      }
      printLine(`Pinned ${runId} as the baseline for ${baseline.goldenSet} on ${baseline.pipeline}.`);
      for (const warning of warnings) note(warning);
      for (const { runId: other, reason } of baseline.excludedRuns) note(`Excluded run ${other}: ${reason}.`);
      if (runs < MIN_CLEAN_RUNS) {
        note(
          `The retriever noise is unknown because fewer than ${MIN_CLEAN_RUNS} runs are suitable for measuring it. To measure the noise, use --reruns 9.`,
        );
      } else if (isDeterministic)
        note(
          `The retriever returned the same results in ${plural(runs, 'run')}, so any difference from the baseline counts as a change.`,
        );
      else note(`Comparisons account for the retriever noise, measured on ${plural(runs, 'run')}.`);
      for (const sentence of power) note(sentence);
    });
}

function unpinCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'unpin',
    'Unpin the baseline, so that later runs are no longer compared with it.',
    'recalld baselines unpin --pipeline support-docs --set support-faq',
  )
    .requiredOption('--pipeline <name>', 'name of a pipeline in the config')
    .requiredOption('--set <name>', 'golden set')
    .action(async ({ pipeline, set, config, json }) => {
      await withCommandStore(commandSettings(config, signal), (store) =>
        unpin(store, pipeline, set, commandUser(), new Date()),
      );
      if (json === true) printJson({ pipeline, golden_set: set, unpinned: true });
      else printLine(`Runs of ${set} on ${pipeline} are no longer compared with a baseline.`);
    });
}

function listCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand('list', 'List baselines, newest first.', 'recalld baselines list')
    .option('--pipeline <name>', 'list only baselines of this pipeline')
    .option('--limit <n>', 'maximum number of baselines', parseCount, 20)
    .action(async ({ pipeline, limit, config, json }) => {
      const found = await withCommandStore(commandSettings(config, signal), ({ db }) =>
        db.golden.baselines.list({ limit, pipeline }),
      );
      if (json === true) printJson(toWire(z.array(listedBaseline), found));
      else if (found.length === 0) printLine('No baseline is pinned. Pin a run with `recalld baselines pin RUN`.');
      else {
        printLine(
          tableText(found, [
            ['pipeline', (one) => one.pipeline],
            ['golden set', ({ goldenSet }) => goldenSet],
            ['run', ({ runId }) => runId],
            ['since', ({ pinnedAt }) => time(pinnedAt)],
            ['until', ({ unpinnedAt }) => (unpinnedAt === null ? 'pinned' : time(unpinnedAt))],
            ['note', ({ note }) => note],
          ]),
        );
      }
    });
}

const listedBaseline = baselineSchema.extend({ unpinned_at: z.iso.datetime().nullable() });

function parseReruns(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 0 && count <= 20) return count;
  throw new InvalidArgumentError('The value must be a whole number from 0 to 20.');
}
