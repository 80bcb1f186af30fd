/** `recalld demo`: the whole program on real data, on this machine, with nothing else installed. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { RecalldError } from '../core/errors.ts';
import type { RagFault } from '../demo/rag/fault.ts';
import { tellStory } from '../demo/story.ts';
import { EXIT_CHECK_FAILED } from './exit-code.ts';
import { parentGone } from './interrupt.ts';
import { printLine } from './output.ts';
import { formatRunSummary } from './run-report.ts';

interface DemoOptions {
  readonly port: number;
  readonly fault: RagFault | 'story';
  readonly once: boolean;
}

export function demoCommand(signal: AbortSignal): Command {
  return new Command('demo')
    .description(
      'Show recalld at work: a demo RAG service on real data, its golden set, a fault and its repair.',
    )
    .option('--port <n>', 'port of the daemon, 0 for a free one', parsePort, 8321)
    .addOption(
      new Option(
        '--fault <fault>',
        'what goes wrong: nothing, the index, the embedding, the whole service; story is the index',
      )
        .choices(['none', 'index', 'embedding', 'outage', 'story'])
        .default('story'),
    )
    .option('--once', 'end when the story is told: exit 0, or 1 if a step did not happen', false)
    .addHelpText('after', '\nExample:\n  recalld demo --fault index --once')
    .action((options: DemoOptions) => demo(options, AbortSignal.any([signal, parentGone()])));
}

async function demo(options: DemoOptions, signal: AbortSignal): Promise<void> {
  const told = await tellStory({
    port: options.port,
    fault: options.fault === 'story' ? 'index' : options.fault,
    stay: !options.once,
    signal,
    tell: printLine,
    formatRun: (run) => formatRunSummary(run, null),
  }).catch((error: unknown) => {
    // The demo writes its own config, so the way out is not in a file.
    if (!(error instanceof RecalldError) || error.code !== 'port_in_use') throw error;
    const message = `Port ${options.port} is taken by another process; choose one with --port, or --port 0 for any.`;
    throw new RecalldError('port_in_use', message, { cause: error });
  });
  if (!told) process.exitCode = EXIT_CHECK_FAILED;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
}
