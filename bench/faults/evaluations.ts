/**
 * Data for fitting the diagnosis weights: the evidence on which each diagnosis in a world was based, and the true
 * causes.
 */
import type { Sign } from '../../src/incidents/diagnosis/rules/signs.ts';
import type { Evaluation } from '../diagnosis/fit/evaluation.ts';
import type { WorldRecord } from './record.ts';
import { shapeName } from './shape.ts';
import { mainIncident } from './summary.ts';

/** Returns one evaluation for each golden run after which an incident was open. */
export function evaluationsOf({ id, shape, faults, evaluations }: WorldRecord): Evaluation[] {
  const real = faults.filter(({ causes }) => causes.length > 0);
  const causes = real.length === 0 ? (['unknown'] as const) : [...new Set(real.flatMap((fault) => fault.causes))];
  return evaluations.flatMap((evaluation): Evaluation[] => {
    const incident = mainIncident(evaluation);
    if (incident === null) return [];
    return [
      {
        world: `${id} ${evaluation.run}`,
        source: 'daemon',
        shape: shapeName(shape),
        fault: faults.map(({ kind }) => kind).join(' + '),
        causes: [...causes],
        signs: incident.signs.flatMap(({ sign, state, n, weighed }) =>
          weighed ? [{ name: sign, state, n } as Pick<Sign, 'name' | 'state' | 'n'>] : [],
        ),
        effects: incident.effects,
        failedShare: incident.failed_share,
      },
    ];
  });
}
