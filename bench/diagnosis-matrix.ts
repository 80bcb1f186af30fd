/**
 * How often a diagnosis names the fault: every fault of the demo and more, by many seeds, with all parts in the config,
 * with a harmless deployment beside the fault, and with the retriever alone.
 *
 *     npx tsx bench/diagnosis-matrix.ts [--quick] [--scale N] [--out FILE]
 *
 * `--scale 2` takes twice as many seeds. The table is in docs/diagnosis.md.
 */
import { pathToFileURL } from 'node:url';
import type { Cause, Confidence } from '../src/diagnosis/rules/cause.ts';
import { diagnose } from '../src/diagnosis/rules/diagnose.ts';
import { faults } from './diagnosis/faults.ts';
import { observeFault, type Sight } from './diagnosis/observe.ts';
import { loadCorpus } from './diagnosis/world.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

export interface Cell {
  readonly fault: string;
  readonly does: string;
  readonly cause: Cause;
  readonly sight: Sight;
  readonly seeds: number;
  /** Seeds whose first cause is that of the fault. */
  readonly correct: number;
  /** Seeds that came to `unknown` although the fault has a cause. */
  readonly unknown: number;
  /** Seeds whose first cause is another one, by the confidence that was stated. */
  readonly wrong: Readonly<Record<Confidence, number>>;
  /** The causes that were named wrongly. */
  readonly named: readonly Cause[];
}

export interface DiagnosisResult {
  readonly provenance: Provenance;
  readonly cells: readonly Cell[];
}

/** The weights were set on the seeds 1 to 20, so accuracy is told of others. */
const SEED = 1001;
const SEEDS = 20;
const sights: readonly Sight[] = ['all parts', 'decoy', 'blind'];

export async function measureDiagnosis(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
): Promise<DiagnosisResult> {
  const startedAt = performance.now();
  const corpus = await loadCorpus();
  const seeds = quick ? 1 : SEEDS * scale;
  const cells: Cell[] = [];
  for (const fault of faults) {
    const observed = Array.from({ length: seeds }, (_, index) => observeFault(corpus, fault, SEED + index));
    for (const sight of sights) {
      // What a release did that nobody annotated cannot be told from what another did that somebody did.
      if (sight === 'decoy' && fault.name === 'silent release') continue;
      const found = observed.map((known) => diagnose(known[sight]));
      const missed = found.filter(({ cause }) => cause !== fault.cause);
      const wrong = missed.filter(({ cause }) => cause !== 'unknown');
      const at = (level: Confidence): number => wrong.filter(({ confidence }) => confidence === level).length;
      cells.push({
        fault: fault.name,
        does: fault.does,
        cause: fault.cause,
        sight,
        seeds,
        correct: seeds - missed.length,
        unknown: missed.length - wrong.length,
        wrong: { high: at('high'), medium: at('medium'), low: at('low') },
        named: [...new Set(wrong.map(({ cause }) => cause))],
      });
    }
    say(`${fault.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  }
  return { provenance: provenance(commandOf('diagnosis-matrix', scale), SEED, startedAt), cells };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale } = readArguments(process.argv.slice(2), 'diagnosis-matrix');
  const result = await measureDiagnosis(quick, scale, (line) => process.stderr.write(`${line}\n`));
  if (out === null) process.stdout.write(`${JSON.stringify(result)}\n`);
  else writeResult(out, result);
  for (const { fault, sight, correct, seeds, unknown, wrong, named } of result.cells) {
    const { high, medium, low } = wrong;
    process.stderr.write(
      `${fault.padEnd(18)} ${sight.padEnd(10)} ${correct}/${seeds} unknown ${unknown} wrong ${high}/${medium}/${low} ${named.join(' ')}\n`,
    );
  }
}
