/** After the story a daemon takes over in real time: users go on asking, at the pace of people, and its API has the last word. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandSettings } from '../app/commands/command-store.ts';
import { roles, startMonitor } from '../app/monitor.ts';
import { createClient } from '../client/client.ts';
import type { Cause } from '../diagnosis/rules/cause.ts';
import type { DiagnosisJson } from '../diagnosis/schema.ts';
import { systemClock } from '../system-clock.ts';
import { PIPELINE } from './demo-config.ts';
import { ask, type DemoTraffic } from './traffic.ts';

/** Between two sessions. */
const PACE_MS = 1000;
const PATIENCE_MS = 30_000;

export interface ContinueLiveSettings {
  readonly command: CommandSettings;
  /** Where the search of the RAG service answers. */
  readonly ragUrl: string;
  readonly traffic: DemoTraffic;
  /** Causes that were diagnosed, in the order of the story. */
  readonly causes: readonly Cause[];
  readonly signal: AbortSignal;
}

/**
 * Starts the daemon, lets a few users ask, and looks whether it knows of them and of what the story told.
 *
 * @param stay is done while users go on asking; it gets the address of the daemon
 * @returns what is not as it should be
 * @throws RecalldError as startMonitor
 */
export async function continueLive(
  { command, ragUrl, traffic, causes, signal }: ContinueLiveSettings,
  stay: (url: string, problems: readonly string[]) => Promise<void>,
): Promise<void> {
  const monitor = await startMonitor({ ...command, roles });
  const users = startUsers({ url: monitor.url, ragUrl, traffic, signal });
  try {
    const problems = [
      ...(await causeProblems(monitor.url, causes, signal)),
      ...((await takesIn(monitor.url, signal)) ? [] : ['the daemon did not take in what users asked.']),
    ];
    await stay(monitor.url, problems);
  } finally {
    await users.stop();
    await monitor.stop();
  }
}

type UserSettings = Pick<ContinueLiveSettings, 'ragUrl' | 'traffic' | 'signal'> & { readonly url: string };

/** Users who ask one after the other, and a RAG service that tells recalld of it by its client. */
function startUsers({ url, ragUrl, traffic, signal }: UserSettings): { stop(): Promise<void> } {
  const client = createClient({ url, pipeline: PIPELINE });
  const stopping = new AbortController();
  const until = AbortSignal.any([signal, stopping.signal]);
  const askOn = async (): Promise<void> => {
    for (;;) {
      const { id: sessionId, questions } = traffic.nextSession(0);
      for (const { text } of questions)
        client.track({ text, sessionId, topK: 10, ...(await ask(ragUrl, text, until)) });
      await sleep(PACE_MS, undefined, { signal: until });
    }
  };
  // It goes on until it is stopped.
  const asking = askOn().catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await asking;
      await client.close();
    },
  };
}

/** The causes are the history of the daemon, in the order of the story, and none of them holds any more. */
async function causeProblems(url: string, causes: readonly Cause[], signal: AbortSignal): Promise<string[]> {
  const response = await fetch(`${url}/v1/diagnoses?pipeline=${PIPELINE}&limit=100`, { signal });
  const { items } = (await response.json()) as { items: readonly DiagnosisJson[] };
  const named = items.map(({ cause }) => cause).toReversed();
  return [
    ...(named.join() === causes.join()
      ? []
      : [`the diagnoses that the daemon lists are ${named.join(', ')}.`]),
    ...(items.some(({ closed_at: closedAt }) => closedAt === null) ? ['a diagnosis still holds.'] : []),
  ];
}

/** Whether /metrics comes to count queries of users. */
async function takesIn(url: string, signal: AbortSignal): Promise<boolean> {
  const deadline = systemClock.monotonicMs() + PATIENCE_MS;
  while (systemClock.monotonicMs() < deadline) {
    const text = await (await fetch(`${url}/metrics`, { signal })).text();
    if (/^recalld_queries_total\{pipeline="demo",outcome="ok"\} [1-9]/m.test(text)) return true;
    await systemClock.sleep(200, signal);
  }
  return false;
}
