/** Which stage of the retriever lost what the answers lost between two golden runs. */
import { type ComparedSide, sharedQueries } from '../../golden/rules/compare-golden-runs.ts';
import { ANSWER, type AnsweredStage } from '../../golden/rules/run-stages.ts';
import { lossesByStep, stagedQuestions } from '../../golden/rules/stages.ts';
import { mean, moments } from '../../stats/descriptive.ts';
import { studentTInterval } from '../../stats/intervals.ts';

export interface StagedSide extends ComparedSide {
  /** By the id of the query. */
  readonly stages: ReadonlyMap<string, readonly AnsweredStage[]>;
}

/** Means over the questions that both runs answered, of the shares of their relevant documents. */
export interface StageLoss {
  readonly n: number;
  readonly k: number;
  /** Among the first k of the answers. */
  readonly found: Change;
  /** That each stage lost, in their order, the answer last. */
  readonly steps: readonly (Change & { readonly name: string })[];
}

interface Change {
  readonly before: number;
  readonly now: number;
  /** 95 % bounds of now less before, paired (Student's t). */
  readonly ciLow: number;
  readonly ciHigh: number;
}

/** Fewer questions tell nothing. */
const MIN_QUESTIONS = 20;

const foundIn = (lost: readonly (readonly number[])[]) =>
  lost.map((steps) => 1 - steps.reduce((sum, one) => sum + one, 0));

/** Null for few questions that both runs answered, telling of stages. */
export function stageLoss(before: StagedSide, now: StagedSide, stale: ReadonlySet<string>): StageLoss | null {
  const shared = sharedQueries(before.queries, now.queries).filter(({ id }) => !stale.has(id));
  const told = shared.filter(({ id }) => before.stages.has(id) && now.stages.has(id));
  const k = Math.min(...[before, now].map(({ settings }) => Math.max(...settings.cutoffs)));
  const level = now.settings.relevanceLevel;
  const [old, current] = [before, now].map((side) => stagedQuestions(told, side.answers, side.stages, level));
  if (old === undefined || current === undefined || old.length < MIN_QUESTIONS) return null;
  const { names, losses } = lossesByStep([...old, ...current], k);
  const [lostBefore, lostNow] = [losses.slice(0, old.length), losses.slice(old.length)];
  return {
    n: old.length,
    k,
    found: changeOf(foundIn(lostBefore), foundIn(lostNow)),
    steps: names.map((name, step) => ({
      name,
      ...changeOf(
        lostBefore.map((steps) => steps[step] ?? 0),
        lostNow.map((steps) => steps[step] ?? 0),
      ),
    })),
  };
}

function changeOf(before: readonly number[], now: readonly number[]): Change {
  const { mean: difference, standardDeviation } = moments(now.map((value, row) => value - (before[row] ?? 0)));
  const { low, high } = studentTInterval(difference, standardDeviation, before.length, 0.95);
  return { before: mean(before), now: mean(now), ciLow: low, ciHigh: high };
}

export type StageAtFault =
  /** The answers lost nothing for certain. */
  | { readonly kind: 'steady' }
  | { readonly kind: 'candidates' | 'filter' | 'later'; readonly step: StageLoss['steps'][number] };

/** The stage that lost at least half of what the answers lost; null when none did for certain. */
export function stageAtFault({ found, steps }: StageLoss): StageAtFault | null {
  if (found.ciHigh >= 0) return { kind: 'steady' };
  const [step] = steps.toSorted((a, b) => b.now - b.before - (a.now - a.before));
  if (step === undefined || step.ciLow <= 0 || step.now - step.before < (found.before - found.now) / 2) return null;
  if (step === steps[0]) return { kind: 'candidates', step };
  return { kind: step.name !== ANSWER && step.name.includes('filter') ? 'filter' : 'later', step };
}
