/** `recalld golden probe-tenants`: questions of one tenant that must not bring documents of another. */
import type { Command } from 'commander';
import { commandSettings, withCommandStore, withPipeline } from '../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../app/pipelines.ts';
import { type ConfiguredOptions, configuredCommand, parseCount } from '../cli/configured-command.ts';
import { printJson, printLine } from '../cli/output.ts';
import { RecalldError } from '../errors.ts';
import { parseSetName } from '../golden/commands/sets.ts';
import { goldenSetVersionJson } from '../golden/golden-set-schema.ts';
import { systemClock } from '../system-clock.ts';
import { type ProbedSegment, type ProbeTenantsOptions, probeTenants } from './probe-tenants.ts';

export function probeTenantsCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'probe-tenants',
    "Make questions that are asked as one segment of the manifest in the words of another's documents, which must not come back.",
    'recalld golden probe-tenants --pipeline support-docs --set tenant-probes --segment tenant=a --forbid tenant=b',
  )
    .requiredOption('--pipeline <name>', 'pipeline whose config has `index`')
    .requiredOption('--set <name>', 'golden set of probes, new or not', parseSetName)
    .requiredOption('--segment <key=value>', 'segment of the manifest that the questions are asked as')
    .option('--forbid <key=value...>', 'segments whose documents must not come back; left out, all others of the key')
    .option('--questions <n>', 'questions for each of these segments', parseCount, 10)
    .action((options: ConfiguredOptions & ProbeTenantsOptions) => probe(options, signal));
}

async function probe(options: ConfiguredOptions & ProbeTenantsOptions, signal: AbortSignal): Promise<void> {
  const settings = commandSettings(options.config, signal);
  assertConfiguredPipeline(settings.config, options.pipeline);
  const { set, created, probed } = await withCommandStore(settings, (stored) =>
    withPipeline(settings, options.pipeline, ({ store }) => {
      if (store === null) {
        const message = `The pipeline "${options.pipeline}" has no vector_store to take texts of documents from; add one.`;
        throw new RecalldError('config_invalid', message);
      }
      return probeTenants({ ...stored, store }, options, systemClock.now(), signal);
    }),
  );
  if (options.json === true) return printJson({ ...goldenSetVersionJson(set), created, probed });
  for (const one of probed) printLine(probedLine(one, options.segment));
  printLine(`${set.name} version ${set.version}: ${set.queries} queries.`);
}

function probedLine({ segment, questions, beginning, ids }: ProbedSegment, asked: string): string {
  const forbidden = beginning === null ? `${ids} of its ids` : `all that begins with ${JSON.stringify(beginning)}`;
  return `${questions} questions asked as ${asked} in the words of ${segment}; forbidden is ${forbidden}.`;
}
