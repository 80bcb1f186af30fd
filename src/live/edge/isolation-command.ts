/** Command `recalld isolation check`: evaluates the isolation rules of a config on stored samples. */

import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../app/pipelines.ts';
import { EXIT_CHECK_FAILED } from '../../cli/exit.ts';
import { configuredCommand, parseCount, parseTime, printJson, printLine } from '../../cli/output.ts';
import { RecalldError } from '../../core/errors.ts';
import { count, plural } from '../../core/format.ts';
import { systemClock } from '../../core/system-clock.ts';
import { toWire } from '../../platform/http/wire.ts';
import type { Content } from '../../report/model/content.ts';
import { paragraph, strong, table, time } from '../../report/model/show.ts';
import { terminalText } from '../../report/terminal.ts';
import { type ReplayedPipeline, type ReplayedRule, replayIsolation } from '../replay-isolation.ts';
import { isolationCheckSchema } from './isolation-schema.ts';
import { violatingDocuments } from './violating-documents.ts';

export function isolationCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return command.addCommand(
    configuredCommand(
      'check',
      'Evaluate the isolation rules of a config on the stored samples. Exits with 1 if a rule is violated.',
      'recalld isolation check --config changed.yaml --from 2026-11-01T00:00:00Z',
    )
      .requiredOption('--from <time>', 'start: check only samples that arrived at or after this time', parseTime)
      .option('--to <time>', 'end: check only samples that arrived before this time (default: now)', parseTime)
      .option('--pipeline <name>', 'only this pipeline')
      .option('--violations <n>', 'maximum number of listed violations per rule', parseCount, 20)
      .action(async (options) => {
        const { pipeline: only, from, to: until = systemClock.now(), violations: limit, config, json } = options;
        const settings = commandSettings(config, signal);
        if (only !== undefined) assertConfiguredPipeline(settings.config, only);
        if (until <= from) throw new RecalldError('usage', '--to must be after --from.');
        const found = await withCommandStore(settings, async (store) => {
          const pipelines = store.pipelines.filter(
            ({ name, isolation }) => isolation.length > 0 && (only === undefined || name === only),
          );
          if (pipelines.length === 0) {
            const where = only === undefined ? 'No pipeline has' : `The pipeline "${only}" has no`;
            const fix = 'Add `isolation: [{name: tenants, segment: tenant, allow: ["{{tenant}}/*"]}]` to the pipeline.';
            const message = `${where} isolation rules. ${fix}`;
            throw new RecalldError('config_invalid', message);
          }
          const replayed: ReplayedPipeline[] = [];
          for (const pipeline of pipelines)
            replayed.push(await replayIsolation(store, pipeline, { from, until }, limit, signal));
          return replayed;
        });
        const violated = found.reduce((sum, { rules }) => sum + rules.reduce((of, rule) => of + rule.violated, 0), 0);
        if (json === true) printJson(toWire(isolationCheckSchema, { from, until, violated, pipelines: found }));
        else printLine(terminalText(found.map(contentOf), systemClock.now()));
        if (violated > 0) process.exitCode = EXIT_CHECK_FAILED;
      }),
  );
}

function contentOf({ pipeline, queries, rules }: ReplayedPipeline): Content {
  return [
    paragraph(strong(pipeline), `: ${plural(queries, 'sampled query', 'sampled queries')}.`),
    table(`Isolation rules of ${pipeline}`, rules, [
      ['Rule', ({ rule }) => rule],
      ['Violated', ({ violated }) => violated, 'number'],
      ['Live queries, estimated', ({ estimatedViolations }) => count(Math.round(estimatedViolations)), 'number'],
      ['Allowed', ({ allowed }) => allowed, 'number'],
      ['No segment', ({ unchecked }) => unchecked.segment_missing, 'number'],
      ['No document id', ({ unchecked }) => unchecked.document_unidentified, 'number'],
      ['No field', ({ unchecked }) => unchecked.field_missing, 'number'],
    ]),
    rules.filter(({ violations }) => violations.length > 0).map(violationsOf),
  ];
}

function violationsOf({ rule, violations, violated }: ReplayedRule): Content {
  const shown = violations.length < violated ? ` (${violations.length} of ${violated})` : '';
  return [
    paragraph(`Violations of ${rule}${shown}:`),
    table(`Violations of ${rule}`, violations, [
      ['Occurred (UTC)', ({ occurredAt }) => time(occurredAt)],
      ['Segment', ({ segment }) => segment],
      ['Query', ({ queryId }) => queryId],
      ['Documents (rank)', (violation) => violatingDocuments(violation)],
    ]),
  ];
}
