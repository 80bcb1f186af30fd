/**
 * A recorded evaluation: the evidence by which causes were ranked in one world, and the right causes. Each evaluation
 * is one line of JSON.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { causes } from '../../../src/incidents/diagnosis/rules/cause.ts';
import { diagnose, type Findings } from '../../../src/incidents/diagnosis/rules/diagnose.ts';
import { effectKinds } from '../../../src/incidents/diagnosis/rules/effects.ts';
import type { Observations } from '../../../src/incidents/diagnosis/rules/observations.ts';
import { type Sign, signNames, signStates } from '../../../src/incidents/diagnosis/rules/signs.ts';
import { evaluationsOf } from '../../faults/evaluations.ts';
import type { WorldRecord } from '../../faults/record.ts';

const sign = z
  .object({ name: z.string(), state: z.string(), n: z.number().nullable() })
  .refine(({ name, state }) => isState(name, state), { error: 'No such state of a sign.' });

const effect = z.object({
  kind: z.enum(effectKinds),
  size: z.number(),
  parts: z.record(z.string(), z.number()).nullable(),
});

const evaluationSchema = z.object({
  /** Unique id. */
  world: z.string(),
  /** Origin of the evaluated data, such as `simulation` or `daemon`. */
  source: z.string(),
  /** Shape of the pipeline; cross-validation leaves out all worlds of a shape together. */
  shape: z.string(),
  /** Kind of fault; cross-validation leaves out all worlds of a kind together. */
  fault: z.string(),
  /** Right causes, best first; `unknown` if no cause in the list is right. */
  causes: z.array(z.enum(causes)).min(1),
  signs: z.array(sign),
  effects: z.array(effect),
  /** Share of the golden queries that failed; null if there was no golden run. */
  failedShare: z.number().nullable(),
});

function isState(name: string, state: string): boolean {
  const known = signNames.find((one) => one === name);
  return known !== undefined && (signStates[known] as readonly string[]).includes(state);
}

export type World = Omit<z.infer<typeof evaluationSchema>, 'signs' | 'effects' | 'failedShare'>;

export interface Evaluation extends World, Pick<Findings, 'effects' | 'failedShare'> {
  readonly signs: readonly Pick<Sign, 'name' | 'state' | 'n'>[];
}

/** Diagnoses a world, and returns the evidence without its sentences, because the ranking does not use them. */
export function evaluationOf(world: World, observed: Observations): Evaluation {
  const { signs, weighed, effects, failedShare } = diagnose(observed);
  const used = signs.filter(({ name }) => weighed.includes(name));
  return { ...world, signs: used.map(({ name, state, n }) => ({ name, state, n })), effects, failedShare };
}

/**
 * Reads recorded evaluations, including those in records of the fault benchmark.
 *
 * @throws Error with file and line number if a line is neither an evaluation nor a record of the fault benchmark
 */
export function readEvaluations(files: readonly string[]): Evaluation[] {
  return files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) => (line.trim() === '' ? [] : parseLine(line, `${file}, line ${index + 1},`))),
  );
}

function parseLine(line: string, where: string): Evaluation[] {
  const json: unknown = JSON.parse(line);
  const isWorld = typeof json === 'object' && json !== null && 'evaluations' in json;
  const found = isWorld ? evaluationsOf(json as WorldRecord) : [json];
  return found.map((one) => {
    const parsed = evaluationSchema.safeParse(one);
    if (parsed.success) return parsed.data as Evaluation;
    throw new Error(`${where} holds no evaluation: ${z.prettifyError(parsed.error)}`);
  });
}

export function writeEvaluations(file: string, evaluations: readonly Evaluation[]): void {
  writeFileSync(file, evaluations.map((one) => `${JSON.stringify(one)}\n`).join(''));
}
