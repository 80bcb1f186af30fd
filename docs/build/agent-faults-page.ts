/** docs/explanation/agent-faults.md: detection of a simulated agent's faults, from the benchmark's result file. */
import path from 'node:path';
import type { AgentFaultsResult, CalledFault } from '../../bench/agent-faults.ts';
import { readResult } from '../../bench/result-file.ts';
import { code, generatedPage, type Page, table } from './page.ts';

const file = path.resolve(import.meta.dirname, '../../bench/results/agent-faults.json');

/** Returns the page, or an empty list if there are no results yet. */
export function agentFaultsPages(): Page[] {
  const result = readResult(file) as AgentFaultsResult | null;
  return result === null
    ? []
    : [generatedPage('docs/explanation/agent-faults.md', ['bench/results/agent-faults.json'], sectionsOf(result))];
}

function sectionsOf(result: AgentFaultsResult): string[] {
  const { provenance, episodes_per_hour: perHour, window_hours: window, quiet, faults, coverage } = result;
  const wrong = faults.filter(({ cause }) => cause !== null);
  const better = faults.filter(({ cause }) => cause === null);
  return [
    '# Agent faults',
    `This page shows how often recalld detects an agent's fault and names the right cause. A simulated agent answers real questions from real texts (the demo's 240 passages and 1,190 questions): a router chooses one of three sources, a rewriter turns the question into keywords, and a stop rule decides whether to search again. The agent's habits differ between the simulated streams, and the topics of its users drift. The agent handles ${perHour} episodes an hour on average, more during the day than at night. \`live.window\` is ${window} hours (the default), no live query is judged, and a golden set of 100 queries runs every hour.`,
    'The simulation ranks the documents for each query once, in advance. The estimates, the [detection of changed measures](../runbooks/RecalldMeasureChanged.md), the comparison of golden runs and the [diagnosis](diagnosis.md) use the same code as the daemon. Every five minutes, the simulation checks whether a measure left its normal range; it updates the normal ranges twelve times per window.',
    `Measured by ${code(provenance.command)} on ${provenance.date} (seed ${provenance.seed}; ${provenance.machine}; Node.js ${provenance.node}; ${Math.ceil(provenance.seconds / 60)} minutes).`,
    '## Faults',
    'Each fault starts after 15 healthy days. A fault is *detected* if an alert fires within a day of its start. A diagnosis is *right* if it names only the true cause; *right cause immediately* counts the first diagnosis of each stream. *Named as an agent fault* counts streams in which the diagnosis named one of the two agent causes (`query_rewriting` or `agent_loop`), immediately or two hours later.',
    table(
      [
        'Fault',
        'Cause',
        'Detected within a day',
        'Median hours until detection',
        'Right cause immediately',
        'Right cause two hours later',
        'Named as an agent fault',
      ],
      wrong.map((one) => [
        `${one.name}: ${one.does}`,
        code(one.cause ?? ''),
        shareOf(one.called, one.streams),
        `${one.median_hours ?? '-'}`,
        shareOf(one.right, one.called),
        shareOf(one.right_later, one.called),
        shareOf(one.called_the_agents, one.called),
      ]),
    ),
    '## Without a fault',
    `In ${quiet.streams} streams of ${quiet.days} days without a fault, ${quiet.false_pages} alerts fired. The budget (\`alerts.false_pages.per_pipeline\`, 1 per 90 days) allows ${quiet.budget} alerts in these streams.`,
    ...better.map((one) => sentenceOfBetter(one, result.calls)),
    '## Intervals',
    'For each measure, the table shows how many hourly 95 % intervals contain the value of the measure over the whole simulation. The column *Agent* names the fault of the simulated agent.',
    table(
      ['Measure', 'Agent', 'Windows', 'Covered'],
      coverage.map(({ measure, agent, windows, covered }) => [
        code(measure),
        agent,
        `${windows}`,
        shareOf(covered, windows),
      ]),
    ),
    '## Limits',
    [
      '- The agent, its rewriter and its faults are simulated; the texts and rankings are real. An expert chose the weights of the two agent causes (`query_rewriting` and `agent_loop`); they were not fitted to the simulated streams.',
      '- A change is measured over `live.window`, so recalld detects most faults sooner with a shorter window. For example, an agent that stops after the first call is detected only when the window, 24 hours by default, contains almost no second calls.',
      '- If a rewriter answers the question with a name, a number or another short text, recalld does not recognize the text as an answer. recalld can compare a rewritten query with the original text only if it stores both texts.',
      '- If the agent stops querying one of its sources, recalld detects only the consequence: repeated calls to the other sources.',
    ].join('\n'),
  ];
}

function sentenceOfBetter({ does, called, streams }: CalledFault, { healthy, better }: AgentFaultsResult['calls']) {
  return `${does} With a better retriever, one of the simulated agents makes ${better} calls per episode instead of ${healthy}. Within a day after the retriever improved, an alert fired in ${called} of ${streams} streams.`;
}

function shareOf(part: number, whole: number): string {
  return whole === 0 ? '-' : `${part} of ${whole} (${Number(((100 * part) / whole).toFixed(1))} %)`;
}
