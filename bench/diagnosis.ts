/**
 * Measures how often a diagnosis is right, and whether its stated confidence is calibrated. The worlds are random
 * pipelines, with faults of many kinds or without a fault; they were not used to set the weights or the calibration.
 *
 *     npx tsx bench/diagnosis.ts [--quick] [--scale N] [--out FILE] [--training | --calibrating | --judging] [--record FILE]
 *
 * `--scale 2` simulates twice as many worlds of each kind. `--training` uses the worlds on which the weights were set,
 * `--calibrating` those on which the temperature was set. `--record` writes the evaluations for `npx tsx
 * bench/diagnosis-fit.ts`. docs/explanation/diagnosis-accuracy.md contains the tables.
 */
import { pathToFileURL } from 'node:url';
import type { Cause } from '../src/incidents/diagnosis/rules/cause.ts';
import { diagnose } from '../src/incidents/diagnosis/rules/diagnose.ts';
import { demoCorpus, evenCorpus, unevenCorpus } from './diagnosis/corpus.ts';
import type { Fault } from './diagnosis/fault.ts';
import { faults, quietStreams } from './diagnosis/faults.ts';
import { evaluationOf, type World, writeEvaluations } from './diagnosis/fit/evaluation.ts';
import {
  besideIn,
  isRight,
  type Level,
  levelsOf,
  type Ranked,
  type Stated,
  statedIn,
} from './diagnosis/fit/reliability.ts';
import type { Shape, Worlds } from './diagnosis/shape.ts';
import { drawWorld } from './diagnosis/world.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

/** Outcomes of the diagnoses for one kind of fault. */
export interface Kind {
  readonly name: string;
  readonly does: string;
  readonly cause: Cause;
  readonly isQuiet: boolean;
  readonly draws: number;
  /**
   * Number of right diagnoses: those that named the true cause, alone or together with a cause that could not be
   * distinguished from it, and those that correctly named no cause.
   */
  readonly right: number;
  /** Number of right diagnoses that also named another cause. */
  readonly inPair: number;
  /** Number of diagnoses that named no cause although there was one. */
  readonly unknown: number;
  readonly wrong: number;
  /** Wrongly named causes. */
  readonly named: readonly Cause[];
}

export interface DiagnosisResult {
  readonly provenance: Provenance;
  readonly kinds: readonly Kind[];
  readonly levels: readonly Level[];
  readonly stated: readonly Stated[];
}

/** First random seed for each set of worlds. */
const seeds = { training: 1, calibrating: 1_000_001, judging: 4_000_001 } as const;
const DRAWS = 10;
/**
 * Number of worlds for each kind of quiet stream: more than for each kind of fault, because there are fewer quiet
 * kinds.
 */
const QUIET_DRAWS = 30;

const everyKind = [...faults, ...quietStreams];
/** The quick mode uses every third kind. */
const quickKinds = everyKind.filter((_, place) => place % 3 === 0);

interface Drawn extends Ranked {
  readonly fault: Fault;
}

/** Lists the properties of a pipeline that determine which signs the diagnosis can observe. */
function shapeText({ hasStore, hasEmbedder, hasDensity, liveQueries, segments, candidates }: Shape): string {
  const parts = { store: hasStore, embedder: hasEmbedder, density: hasDensity, live: liveQueries > 0 };
  const optional = { segments: segments > 0, stages: candidates !== null };
  return Object.entries({ ...parts, ...optional })
    .flatMap(([part, has]) => (has ? part : []))
    .join(' ');
}

export async function drawDiagnoses(
  worlds: Worlds,
  kinds: readonly Fault[],
  draws: { readonly ofFault: number; readonly ofQuiet: number },
  say: (line: string) => void,
): Promise<Drawn[]> {
  const demo = await demoCorpus();
  const corpusOf = { training: () => demo, calibrating: evenCorpus, judging: unevenCorpus }[worlds];
  const drawn: Drawn[] = [];
  for (const fault of kinds) {
    const place = everyKind.indexOf(fault);
    const isQuiet = quietStreams.includes(fault);
    const startedAt = performance.now();
    for (let draw = 0; draw < (isQuiet ? draws.ofQuiet : draws.ofFault); draw++) {
      const seed = seeds[worlds] + 1000 * place + draw;
      const worldOf = (shape: Shape): World => ({
        world: `${worlds} ${seed}`,
        source: 'simulation',
        shape: shapeText(shape),
        fault: fault.name,
        causes: [fault.cause],
      });
      const { shape, observed } = drawWorld(corpusOf, worlds, fault, seed);
      drawn.push({
        fault,
        right: [fault.cause],
        ranking: diagnose(observed),
        evaluation: evaluationOf(worldOf(shape), observed),
      });
    }
    const kind = kindOf(fault, drawn);
    const named = kind.named.length === 0 ? '' : ` as ${kind.named.join(', ')}`;
    say(
      `${fault.name}: ${kind.right} of ${kind.draws} right (${kind.inPair} in pairs), ${kind.unknown} unknown, ${kind.wrong} wrong${named}; ${Math.round(performance.now() - startedAt)} ms`,
    );
  }
  return drawn;
}

export async function measureDiagnosis(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
): Promise<DiagnosisResult> {
  const startedAt = performance.now();
  const kinds = quick ? quickKinds : everyKind;
  const draws = quick ? { ofFault: 1, ofQuiet: 1 } : { ofFault: DRAWS * scale, ofQuiet: QUIET_DRAWS * scale };
  const drawn = await drawDiagnoses('judging', kinds, draws, say);
  return {
    provenance: provenance(commandOf('diagnosis', scale), seeds.judging, startedAt),
    kinds: kinds.map((fault) => kindOf(fault, drawn)),
    levels: levelsOf(drawn),
    stated: statedIn(drawn),
  };
}

function kindOf(fault: Fault, all: readonly Drawn[]): Kind {
  const drawn = all.filter((one) => one.fault === fault);
  const right = drawn.filter(isRight);
  const missed = drawn.filter((one) => !isRight(one));
  const wrong = missed.filter(({ ranking }) => ranking.cause !== 'unknown');
  const { name, does, cause } = fault;
  return {
    name,
    does,
    cause,
    isQuiet: quietStreams.includes(fault),
    draws: drawn.length,
    right: right.length,
    inPair: right.filter((one) => besideIn(one) !== null).length,
    unknown: missed.length - wrong.length,
    wrong: wrong.length,
    named: [...new Set(wrong.map(({ ranking }) => ranking.cause))],
  };
}

export function totalOf(kinds: readonly Kind[], key: 'draws' | 'right' | 'unknown' | 'wrong' | 'inPair'): number {
  return kinds.reduce((sum, kind) => sum + kind[key], 0);
}

function countsOf(what: string, of: readonly Kind[]): string {
  return `${what}: ${totalOf(of, 'right')} of ${totalOf(of, 'draws')} right (${totalOf(of, 'inPair')} in pairs), ${totalOf(of, 'unknown')} unknown, ${totalOf(of, 'wrong')} wrong`;
}

function summaryOf({ kinds, levels }: Pick<DiagnosisResult, 'kinds' | 'levels'>): string[] {
  const real = kinds.filter(({ isQuiet }) => !isQuiet);
  return [
    countsOf('all', kinds),
    countsOf('faults', real),
    ...levels.map(
      ({ confidence, named, right, stated }) =>
        `${confidence}: ${right} of ${named} right, stated ${stated.toFixed(2)}`,
    ),
  ];
}

function printed(line: string): void {
  process.stderr.write(`${line}\n`);
}

function valueOf(flag: string): string | null {
  const at = process.argv.indexOf(flag);
  return at === -1 ? null : (process.argv[at + 1] ?? null);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale } = readArguments(process.argv.slice(2), 'diagnosis');
  const record = valueOf('--record');
  const other = (['training', 'calibrating', 'judging'] as const).find((worlds) =>
    process.argv.includes(`--${worlds}`),
  );
  if (other !== undefined) {
    const drawn = await drawDiagnoses(other, everyKind, { ofFault: DRAWS * scale, ofQuiet: DRAWS * scale }, printed);
    const kinds = everyKind.map((fault) => kindOf(fault, drawn));
    for (const line of summaryOf({ kinds, levels: levelsOf(drawn) })) printed(line);
    if (record !== null)
      writeEvaluations(
        record,
        drawn.map(({ evaluation }) => evaluation),
      );
  } else {
    const result = await measureDiagnosis(quick, scale, printed);
    if (out !== null) writeResult(out, result);
    for (const line of summaryOf(result)) printed(line);
  }
}
