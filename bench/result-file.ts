/** Result files of the simulations: results, command, machine and time. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface Provenance {
  readonly command: string;
  readonly seed: number;
  /** Day of the measurement, UTC. */
  readonly date: string;
  readonly machine: string;
  readonly node: string;
  readonly seconds: number;
}

export interface BenchArguments {
  /**
   * If true, the benchmark runs in seconds instead of minutes, to test the script, and writes a result file only if
   * `--out` is set.
   */
  readonly quick: boolean;
  readonly out: string | null;
  /** Factor by which the number of streams is multiplied. */
  readonly scale: number;
  /** Seed from the command line; null for the default seed, which the published result uses. */
  readonly seed: number | null;
  /** True to continue from the existing file. */
  readonly resume: boolean;
  /** Encoder of the texts, for benchmarks with several encoders; its results are in a separate file. */
  readonly encoder: string | null;
}

const results = path.join(import.meta.dirname, 'results');

export function readArguments(args: readonly string[], name: string): BenchArguments {
  const valueOf = (flag: string): string | null => {
    const at = args.indexOf(flag);
    return at === -1 ? null : (args[at + 1] ?? null);
  };
  const quick = args.includes('--quick');
  const seed = valueOf('--seed');
  const encoder = valueOf('--encoder');
  const file = encoder === null ? name : `${name}-${encoder}`;
  return {
    quick,
    out: valueOf('--out') ?? (quick ? null : path.join(results, `${file}.json`)),
    scale: Number(valueOf('--scale') ?? 1),
    seed: seed === null ? null : Number(seed),
    resume: args.includes('--resume'),
    encoder,
  };
}

export function commandOf(name: string, scale: number, encoder: string | null = null): string {
  return `npx tsx bench/${name}.ts${encoder === null ? '' : ` --encoder ${encoder}`}${scale === 1 ? '' : ` --scale ${scale}`}`;
}

export function provenance(command: string, seed: number, startedAt: number): Provenance {
  return {
    command,
    seed,
    date: new Date().toISOString().slice(0, 10),
    machine: `${os.availableParallelism()} x ${os.cpus()[0]?.model ?? 'unknown'}, ${os.platform()} ${os.arch()}`,
    node: process.version,
    seconds: Math.round((performance.now() - startedAt) / 1000),
  };
}

export function writeResult(file: string, result: object): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(result, null, 1)}\n`);
}

/** Returns the parsed file; null if there is no file. */
export function readResult(file: string): unknown {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}
