/** `recalld demo`: the whole program on real data, on this machine, with nothing else installed. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { assertCanListen } from '../app/http/server.ts';
import { RecalldError } from '../core/errors.ts';
import { type ChapterName, chapters } from '../demo/chapters.ts';
import { reportStory } from '../demo/story.ts';
import { EXIT_CHECK_FAILED, parentGone, requireDemoPackages } from './exit.ts';
import { printLine, styled } from './output.ts';
import { showProgressLine } from './progress.ts';

interface DemoOptions {
  readonly port: number;
  readonly fault: ChapterName | 'none' | 'story';
  readonly once: boolean;
}

export function demoCommand(command: Command, signal: AbortSignal): Command {
  return command
    .option('--port <n>', 'port of the daemon, 0 for a free one', parsePort, 8321)
    .addOption(
      new Option('--fault <fault>', 'tell of one fault alone, or of none; story is all of them')
        .choices(['none', ...chapters.map(({ name }) => name), 'story'])
        .default('story'),
    )
    .option('--once', 'end when the story is told: exit 0, or 1 if a step did not happen', false)
    .addHelpText('after', '\nExample:\n  recalld demo --fault index --once')
    .action((options: DemoOptions) => demo(options, AbortSignal.any([signal, parentGone()])));
}

async function demo({ port, once, fault }: DemoOptions, signal: AbortSignal): Promise<void> {
  requireDemoPackages();
  let told: boolean;
  try {
    await assertCanListen({ host: '127.0.0.1', port }, 'server.port');
    told = await reportStory({
      port,
      stay: !once,
      signal,
      chapters: chapters.filter(({ name }) => fault === 'story' || name === fault),
      output: { print: printLine, progress: showProgressLine, styled },
    });
  } catch (error) {
    // The demo writes its own config, so the way out is not in a file.
    if (!(error instanceof RecalldError) || error.code !== 'port_in_use') throw error;
    const message = `Port ${port} is taken by another process; choose one with --port, or --port 0 for any.`;
    throw new RecalldError('port_in_use', message, { cause: error });
  }
  if (!told) process.exitCode = EXIT_CHECK_FAILED;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
}
