/**
 * Measures what `recalld drift` detects in one window of queries whose vectors come from a neural encoder.
 *
 *     npx tsx bench/density-looks.ts [--encoder minilm|minilm-papers] [--quick] [--scale N] [--out FILE]
 *
 * The articles that the store lacks differ from those that were used to choose the rule. `--scale 4` makes four times
 * as many comparisons. `--encoder` selects recorded vectors of all-MiniLM-L6-v2: `minilm` for articles in three
 * languages, `minilm-papers` for research papers in English.
 */
import { pathToFileURL } from 'node:url';
import { type BenchEncoder, denseWorld, encodedSettings, readEncoder } from './density/article-world.ts';
import { type LookCell, type LookChange, type LookSize, lookCell } from './density/one-look.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

export interface LookResult {
  readonly provenance: Provenance;
  readonly looks: readonly LookCell[];
}

interface Plan {
  readonly articles: number;
  readonly leftOut: number;
  readonly draws: number;
  readonly changes: readonly LookChange[];
  readonly size: LookSize;
}

const SEED = 20_261_123;

const fullPlan: Plan = {
  articles: Number.POSITIVE_INFINITY,
  leftOut: 6,
  draws: 36,
  changes: [
    { kind: 'none' },
    { kind: 'uncovered', share: 0.1 },
    { kind: 'uncovered', share: 0.2 },
    { kind: 'new and held', share: 0.2 },
    { kind: 'topic mix', spread: 1 },
  ],
  size: { reference: 3_000, current: 1_000 },
};

const quickPlan: Plan = {
  articles: 3,
  leftOut: 1,
  draws: 1,
  changes: [{ kind: 'none' }, { kind: 'uncovered', share: 0.2 }],
  size: { reference: 300, current: 100 },
};

export async function measureLooks(
  quick: boolean,
  scale: number,
  say: (line: string) => void,
  encoder: BenchEncoder | null = null,
  keep: (result: LookResult) => void = () => {},
): Promise<LookResult> {
  const startedAt = performance.now();
  const { articles, leftOut, draws, changes, size } = quick ? quickPlan : fullPlan;
  const looks: LookCell[] = [];
  const soFar = (): LookResult => ({
    provenance: provenance(commandOf('density-looks', scale, encoder), SEED, startedAt),
    looks,
  });
  for (const { encoded, repeats } of await encodedSettings(encoder ?? 'use-lite', articles)) {
    for (const [number, change] of changes.entries()) {
      const worlds = Array.from({ length: draws * scale }, (_, draw) =>
        denseWorld(encoded, SEED + draw, repeats, leftOut),
      );
      const cell = await lookCell(worlds, change, size, SEED + 1_000 * number);
      looks.push(cell);
      say(`${cell.world}, ${cell.change}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
      keep(soFar());
    }
  }
  return soFar();
}

function say(line: string): boolean {
  return process.stderr.write(`${line}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale, encoder } = readArguments(process.argv.slice(2), 'density-looks');
  const result = await measureLooks(quick, scale, say, readEncoder(encoder), (part) => {
    if (out !== null) writeResult(out, part);
  });
  if (out === null) process.stdout.write(`${JSON.stringify(result)}\n`);
}
