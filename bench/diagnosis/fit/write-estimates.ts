/** Writes the source file of fitted estimates. */
import type { Estimates } from '../../../src/incidents/diagnosis/rules/estimates.ts';

/** Evaluations to which the estimates were fitted, and the day and version of the fit. */
export interface FitProvenance {
  /** SHA-256 of the contents of all evaluation files, concatenated in the order of the command line. */
  readonly sha256: string;
  /** Number of evaluations, keyed by their source. */
  readonly worlds: Readonly<Record<string, number>>;
  readonly kinds: number;
  /** Day of the fit, UTC. */
  readonly day: string;
  /** Version of recalld. */
  readonly version: string;
}

export function sourceOf({ priors, weights, unexplained, temperature }: Estimates, from: FitProvenance): string {
  const rows = Object.entries(weights).flatMap(([cause, signs]) => [
    `    ${cause}: {`,
    ...Object.entries(signs).flatMap(([name, states]) => objectLines(name, states, 6)),
    '    },',
  ]);
  const worlds = Object.entries(from.worlds).map(([source, count]) => `${count} worlds (${source})`);
  return `/**
 * Weights that were fitted to ${worlds.join(' and ')}, of ${from.kinds} kinds, on ${from.day}, by
 * \`npx tsx bench/diagnosis-fit.ts\` of recalld ${from.version}. Do not edit: change the evidence graph (weights.ts) and fit again.
 * SHA-256 of the evaluations: ${from.sha256}
 */
import type { Estimates } from './estimates.ts';

export const fittedEstimates: Estimates = {
${objectLines('priors', priors, 2).join('\n')}
  unexplained: ${unexplained},
  temperature: ${temperature},
  weights: {
${rows.join('\n')}
  },
};
`;
}

const MAX_LINE = 120;

/** Writes an object on one line if it fits, as the formatter does. */
function objectLines(key: string, of: Readonly<Record<string, number>>, indent: number): string[] {
  const entries = Object.entries(of).map(([name, value]) => `${name}: ${value}`);
  const start = ' '.repeat(indent);
  const line = `${start}${key}: ${entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`},`;
  if (line.length <= MAX_LINE) return [line];
  return [`${start}${key}: {`, ...entries.map((entry) => `${start}  ${entry},`), `${start}},`];
}
