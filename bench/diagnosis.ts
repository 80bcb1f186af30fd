/**
 * How often a diagnosis is right, and what its confidence is worth: faults of many kinds and quiet streams, in pipelines
 * that are drawn at random, with worlds that neither weights nor calibration were set on.
 *
 *     npx tsx bench/diagnosis.ts [--quick] [--scale N] [--out FILE] [--training | --calibrating]
 *
 * `--scale 2` draws twice as many worlds of each kind. `--training` looks at the worlds that the weights were set on;
 * `--calibrating` at others, and says which temperature fits them. The tables are in docs/diagnosis.md.
 */
import { pathToFileURL } from 'node:url';
import type { Cause, Confidence } from '../src/diagnosis/rules/cause.ts';
import { diagnose, type Findings } from '../src/diagnosis/rules/diagnose.ts';
import { besideOf } from '../src/diagnosis/rules/rank-causes.ts';
import { demoCorpus, evenCorpus, unevenCorpus } from './diagnosis/corpus.ts';
import type { Fault } from './diagnosis/fault.ts';
import { faults, quietStreams } from './diagnosis/faults.ts';
import type { Worlds } from './diagnosis/shape.ts';
import { drawWorld } from './diagnosis/world.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

/** What diagnoses of one kind of fault came to. */
export interface Kind {
  readonly name: string;
  readonly does: string;
  readonly cause: Cause;
  readonly isQuiet: boolean;
  readonly draws: number;
  /** The cause was named, alone or beside another that was not told from it; or rightly none was. */
  readonly right: number;
  /** Of these, beside another. */
  readonly inPair: number;
  /** None was named although there is one. */
  readonly unknown: number;
  readonly wrong: number;
  /** What was named wrongly. */
  readonly named: readonly Cause[];
}

export interface Level {
  readonly confidence: Confidence;
  readonly named: number;
  readonly right: number;
  /** Mean of the probabilities that were stated; of both causes together where two were named. */
  readonly stated: number;
}

/** Diagnoses that named something, by the probability that they stated. */
export interface Stated extends Omit<Level, 'confidence'> {
  readonly from: number;
  readonly to: number;
}

export interface DiagnosisResult {
  readonly provenance: Provenance;
  readonly kinds: readonly Kind[];
  readonly levels: readonly Level[];
  readonly stated: readonly Stated[];
}

/** The first seed of each kind of worlds. */
const seeds = { training: 1, calibrating: 1_000_001, judging: 4_000_001 } as const;
const DRAWS = 10;
/** Quiet streams are fewer kinds. */
const QUIET_DRAWS = 30;

const everyKind = [...faults, ...quietStreams];
/** Of these a quick look takes each third. */
const quickKinds = everyKind.filter((_, place) => place % 3 === 0);

interface Drawn {
  readonly fault: Fault;
  readonly isQuiet: boolean;
  readonly found: Findings;
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
      drawn.push({ fault, isQuiet, found: diagnose(drawWorld(corpusOf, worlds, fault, seed).observed) });
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
  const wrong = missed.filter(({ found }) => found.cause !== 'unknown');
  const { name, does, cause } = fault;
  return {
    name,
    does,
    cause,
    isQuiet: quietStreams.includes(fault),
    draws: drawn.length,
    right: right.length,
    inPair: right.filter(({ found }) => besideOf(found.ranked, found.cause) !== null).length,
    unknown: missed.length - wrong.length,
    wrong: wrong.length,
    named: [...new Set(wrong.map(({ found }) => found.cause))],
  };
}

function levelsOf(drawn: readonly Drawn[]): Level[] {
  return (['high', 'medium', 'low'] as const).map((confidence) => ({
    confidence,
    ...reliabilityOf(drawn, ({ found }) => found.confidence === confidence),
  }));
}

const steps = [0.5, 0.6, 0.75, 0.9, 0.95, 1] as const;

function statedIn(drawn: readonly Drawn[]): Stated[] {
  return steps.slice(1).map((to, place) => {
    const from = steps[place] ?? 0;
    return {
      from,
      to,
      ...reliabilityOf(drawn, ({ found }) => statedOf(found) > from && statedOf(found) <= to),
    };
  });
}

function reliabilityOf(drawn: readonly Drawn[], isIn: (one: Drawn) => boolean): Omit<Level, 'confidence'> {
  const own = drawn.filter((one) => one.found.cause !== 'unknown' && isIn(one));
  const stated = own.reduce((sum, { found }) => sum + statedOf(found), 0) / Math.max(1, own.length);
  return { named: own.length, right: own.filter(isRight).length, stated };
}

function statedOf({ ranked, cause, probability }: Findings): number {
  return probability + (besideOf(ranked, cause)?.probability ?? 0);
}

/** Whether what was named holds the cause of the fault. */
function isRight({ fault, found }: Drawn): boolean {
  const named = [found.cause, besideOf(found.ranked, found.cause)?.cause];
  return named.includes(fault.cause);
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

/** What one miss may cost at most, in nats: a fault that a diagnosis holds for impossible is one miss, not all that counts. */
const MAX_LOSS = 7;

/** Posteriors to the power of 1 / temperature make what truly happened likeliest: above 1 they are too sure of themselves. */
function fittingTemperature(drawn: readonly Drawn[]): number {
  const lossAt = (temperature: number): number =>
    drawn.reduce((sum, { fault, found }) => {
      const powers = found.ranked.map(({ probability }) => probability ** (1 / temperature));
      const truth = powers[found.ranked.findIndex(({ cause }) => cause === fault.cause)] ?? 0;
      return sum + Math.min(MAX_LOSS, Math.log(powers.reduce((a, b) => a + b)) - Math.log(truth));
    }, 0);
  const temperatures = Array.from({ length: 60 }, (_, step) => 0.6 + step / 20);
  return temperatures.toSorted((a, b) => lossAt(a) - lossAt(b))[0] ?? 1;
}

function printed(line: string): void {
  process.stderr.write(`${line}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale } = readArguments(process.argv.slice(2), 'diagnosis');
  const other = (['training', 'calibrating'] as const).find((worlds) => process.argv.includes(`--${worlds}`));
  if (other !== undefined) {
    const drawn = await drawDiagnoses(other, everyKind, { ofFault: DRAWS * scale, ofQuiet: DRAWS * scale }, printed);
    const kinds = everyKind.map((fault) => kindOf(fault, drawn));
    for (const line of summaryOf({ kinds, levels: levelsOf(drawn) })) printed(line);
    printed(`fitting temperature: ${fittingTemperature(drawn).toFixed(2)}`);
  } else {
    const result = await measureDiagnosis(quick, scale, printed);
    if (out !== null) writeResult(out, result);
    for (const line of summaryOf(result)) printed(line);
  }
}
