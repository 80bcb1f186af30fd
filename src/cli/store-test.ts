/** `recalld store-test`: tests, without writing, that the configured store has the features that recalld needs. */
import { type Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import { type CommandSettings, commandSettings, withPipeline } from '../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../app/pipelines.ts';
import { version } from '../app/version.ts';
import {
  knownSubject,
  runStoreTest,
  type StoreFinding,
  type StoreVerdict,
  storeTests,
  type TestedStore,
} from '../connectors/stores/store-tests/run.ts';
import { RecalldError } from '../core/errors.ts';
import { systemClock } from '../core/system-clock.ts';
import { EXIT_CHECK_FAILED, EXIT_OK, exitCodeOfKind } from './exit.ts';
import { formatTable, printJson, printLine, verdictText, withConfig } from './output.ts';

export function storeTestCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(command, 'recalld store-test --config recalld.yaml --filter language=en')
    .option('--pipeline <name>', "only test this pipeline's store")
    .option('--filter <field=value>', 'name and value of a field in the store, used to test filters', parseFilter, null)
    .addHelpText(
      'after',
      '\nThis command only needs read access. Exit codes: 0 all supported features work, 1 a test failed, 3 a store does not respond.',
    )
    .action(async (options) => {
      const settings = commandSettings(options.config, signal);
      const tested: TestedPipeline[] = [];
      for (const pipeline of pipelinesWithStore(settings, options.pipeline)) {
        const one = await testPipeline(settings, pipeline, options.filter);
        tested.push(one);
        if (options.json !== true) print(one);
      }
      const verdict = verdictOf(tested);
      if (options.json === true) {
        const { node } = process.versions;
        const stores = tested.map(storeJson);
        printJson({ recalld: version, node, tested_at: systemClock.now().toISOString(), stores, verdict });
      }
      process.exitCode = exitCodes[verdict];
    });
}

function parseFilter(text: string): TestedStore['filter'] {
  const [, name, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { name, value };
  throw new InvalidArgumentError('Use a form such as language=en.');
}

function pipelinesWithStore({ config }: CommandSettings, only: string | undefined): string[] {
  if (only !== undefined) assertConfiguredPipeline(config, only);
  const named = config.pipelines.filter(({ name }) => only === undefined || name === only);
  const withStore = named.filter(({ vector_store: store }) => store !== undefined).map(({ name }) => name);
  if (withStore.length > 0) return withStore;
  const whose = only === undefined ? 'No pipeline in the config has a' : `The pipeline "${only}" has no`;
  throw new RecalldError('config_invalid', `${whose} \`vector_store\` to test; add it to the config.`);
}

type TestedPipeline = Awaited<ReturnType<typeof testPipeline>>;

function testPipeline(settings: CommandSettings, name: string, filter: TestedStore['filter']) {
  const { signal } = settings;
  return withPipeline(settings, name, async ({ store }) => {
    if (store === null) throw new RecalldError('config_invalid', `The pipeline "${name}" has no \`vector_store\`.`);
    const tested = { pipeline: name, kind: store.kind };
    const known = await knownSubject({ store, filter, signal });
    if (known.kind === 'finding') return { ...tested, description: null, findings: [known.finding] };
    const findings: StoreFinding[] = [];
    for (const test of storeTests) {
      const finding = await runStoreTest(test, known.subject);
      findings.push(finding);
      if (finding.verdict === 'unreachable') break;
    }
    return { ...tested, description: known.subject.description, findings };
  });
}

const exitCodes = { passed: EXIT_OK, failed: EXIT_CHECK_FAILED, unreachable: exitCodeOfKind.unreachable } as const;

function verdictOf(tested: readonly TestedPipeline[]): keyof typeof exitCodes {
  const verdicts = new Set(tested.flatMap(({ findings }) => findings.map(({ verdict }) => verdict)));
  if (verdicts.has('unreachable')) return 'unreachable';
  return verdicts.has('failed') ? 'failed' : 'passed';
}

const marks: Record<StoreVerdict, string> = {
  passed: 'ok',
  failed: 'critical',
  unsupported: 'unsupported',
  not_tried: 'not tried',
  unreachable: 'critical',
};

function print({ pipeline, kind, description, findings }: TestedPipeline): void {
  const traits = Object.entries(description?.traits ?? {}).map(([name, value]) => `${name} ${value}`);
  printLine(`${pipeline}: ${[kind, ...traits].join(', ')}`);
  const rows = findings.map(({ test, verdict, message }) => [verdictText(marks[verdict]), test, message]);
  printLine(formatTable(['', 'test', 'result'], rows));
}

function storeJson({ description, ...tested }: TestedPipeline) {
  if (description === null) return { ...tested, description };
  const { isExactCount: is_exact_count, ...rest } = description;
  return { ...tested, description: { ...rest, is_exact_count } };
}
