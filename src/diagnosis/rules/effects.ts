/** What is in alarm and how much of it, from what was measured. */
import { type Effect, type EffectKind, effectParts } from './explains.ts';
import type { Observations, ObservedRun } from './observations.ts';
import type { Sign, SignName } from './signs.ts';

/** A fall of a score that is no larger is not one. */
const MIN_FALL = 0.005;

/** The signs that say that something moved, by what can be in alarm. */
const movedBy: Readonly<Partial<Record<EffectKind, readonly [SignName, ...string[]]>>> = {
  latency: ['latency', 'rose'],
  labels: ['labels', 'some_gone', 'many_gone'],
  forbidden: ['forbidden', 'some'],
  live_errors: ['live_errors', 'some', 'most'],
  live_empty: ['live_empty', 'rose'],
  relevance: ['live_relevance', 'fell'],
  judge: ['judge', 'changed'],
  density: ['density', 'fell', 'fell_new_questions', 'fell_same_questions'],
  recall: ['ann_recall', 'fell'],
  canary: ['canary', 'changed'],
  runs: ['own_work', 'overdue', 'failed'],
};

/** These are alarms wherever they are measured, without a check. */
const alwaysAlarms: readonly EffectKind[] = ['failures', 'relevance', 'judge', 'recall', 'canary', 'runs'];

/**
 * The effects that are in alarm. One that was in alarm but is as it was before has the size 0: no cause explains it. One
 * that cannot be held against before is left out. Empty when it is not known what is in alarm.
 */
export function effectsOf({ alarmed, run }: Pick<Observations, 'alarmed' | 'run'>, signs: readonly Sign[]): Effect[] {
  if (alarmed === null) return [];
  const always = alwaysAlarms.filter((kind) => isMoved(kind, signs) || (kind === 'failures' && isFailing(signs)));
  return [...new Set([...alarmed, ...always])].flatMap((kind): Effect[] => {
    if (kind === 'score') return scoreEffect(run);
    if (kind === 'failures') return failures(run, signs);
    const [name] = movedBy[kind] ?? [];
    if (name === undefined) return [{ kind, size: 1, parts: null }];
    if (!signs.some((sign) => sign.name === name)) return [];
    return [{ kind, size: isMoved(kind, signs) ? 1 : 0, parts: null }];
  });
}

/** Share of the golden queries that failed; null without a run. */
export function failedShareOf(run: ObservedRun | null): number | null {
  if (run === null) return null;
  const { ok, empty, error, timeout } = run.outcomes;
  const total = ok + empty + error + timeout;
  return total === 0 ? null : (error + timeout) / total;
}

function isMoved(kind: EffectKind, signs: readonly Sign[]): boolean {
  const [name, ...states] = movedBy[kind] ?? [];
  return signs.some((sign) => sign.name === name && states.includes(sign.state));
}

function isFailing(signs: readonly Sign[]): boolean {
  return signs.some(({ name, state }) => name === 'failures' && state !== 'none');
}

function failures(run: ObservedRun | null, signs: readonly Sign[]): Effect[] {
  if (run === null) return [];
  if (!isFailing(signs)) return [{ kind: 'failures', size: 0, parts: null }];
  const { error: failed, timeout } = run.outcomes;
  return [{ kind: 'failures', size: failed + timeout, parts: { failed, timed_out: timeout } }];
}

/** Other questions have another mean, and answers waver: by less than this it may be by chance. */
const MIN_TO_TELL = 0.02;

/** Parts that rose instead take nothing away from those that fell. */
function scoreEffect(run: ObservedRun | null): Effect[] {
  const loss = run?.reference?.loss ?? null;
  if (loss === null) return [];
  if (loss.before - loss.now < MIN_FALL) return [{ kind: 'score', size: 0, parts: null }];
  const parts = { ...loss.parts, unshared: toldOf(loss.parts.unshared), answers: toldOf(loss.parts.answers) };
  const size = effectParts.reduce((sum, part) => sum + Math.max(0, parts[part]), 0);
  return [{ kind: 'score', size, parts }];
}

function toldOf(part: number): number {
  return part < MIN_TO_TELL ? 0 : part;
}
