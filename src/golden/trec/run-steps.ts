/**
 * Steps of judged queries in a run file: lines with the query id `q1#2` are the results of step 2 of the query `q1`, if
 * the judgments contain `q1` but not `q1#2`.
 */
import { RecalldError } from '../../core/errors.ts';
import { quoted } from '../../core/text/source-line.ts';
import {
  applyDuplicatePolicy,
  type DuplicatePolicy,
  orderLikeTrecEval,
  type Ranking,
  type ScoredDocuments,
} from '../../math/ir/ranking.ts';

/**
 * Matches at most nine digits, so that a step is a safe integer. Matches no leading zeros, because `q1#1` and `q1#01`
 * would otherwise be the same step.
 */
const STEP = /^(.+)#([1-9]\d{0,8})$/s;

interface StepId {
  readonly query: string;
  readonly step: number;
}

/** Results of steps, keyed by the index of the judged query and by step. */
export class RunSteps {
  readonly #rankings = new Map<number, Map<number, Ranking>>();
  readonly #path: string;
  readonly #places: ReadonlyMap<string, number>;
  /** The first query id that starts with a judged query id and `#`, but is itself neither judged nor a step. */
  unread: string | null = null;
  count = 0;

  /** @param places indices of the judged queries, keyed by id */
  constructor(path: string, places: ReadonlyMap<string, number>) {
    this.#path = path;
    this.#places = places;
  }

  /** Returns the query and the step that an unjudged query id such as `q1#2` denotes; null unless `q1` is judged. */
  read(id: string): StepId | null {
    const [, query = '', number] = STEP.exec(id) ?? [];
    return this.#places.has(query) ? { query, step: Number(number) } : null;
  }

  has({ query, step }: StepId): boolean {
    return this.#rankings.get(this.#places.get(query) ?? -1)?.has(step) === true;
  }

  /** @throws RecalldError file_malformed for a repeated document if the policy is `reject` */
  add(id: string, { query, step }: StepId, documents: ScoredDocuments, duplicates: DuplicatePolicy): void {
    const place = this.#places.get(query) ?? -1;
    const { ids } = orderLikeTrecEval(documents);
    const { ranking } = applyDuplicatePolicy(ids, duplicates, `${this.#path}: The query ${quoted(id)}`);
    const known = this.#rankings.get(place) ?? new Map<number, Ranking>();
    this.#rankings.set(place, known.set(step, ranking));
    this.count += 1;
  }

  /** Remembers the first unjudged query id that looks like a step but is not one. */
  notice(id: string): void {
    const end = id.lastIndexOf('#');
    if (end > 0 && this.#places.has(id.slice(0, end))) this.unread ??= id;
  }

  /**
   * Yields each query that has steps, and the rankings of its steps in order. A step without results does not appear in
   * a run file, which changes no score.
   *
   * @param answered 1 for each judged query that has results under its own id
   * @throws RecalldError file_malformed if a query has results both under its own id and for its steps, or if a query
   *   id is ambiguous: if `q1#1` is a judged query of its own, `q1#2` may be a step of `q1` or an unjudged query
   */
  *queries(answered: Uint8Array, ids: readonly string[], qrelsPath: string): Generator<readonly [number, Ranking[]]> {
    const judgedLikeSteps = new Map(ids.flatMap((id) => (STEP.test(id) ? [[STEP.exec(id)?.[1], id] as const] : [])));
    for (const [place, steps] of this.#rankings) {
      const query = ids[place] ?? '';
      const ordered = [...steps].toSorted(([a], [b]) => a - b);
      const first = `${query}#${ordered[0]?.[0] ?? 1}`;
      if (answered[place] === 1)
        throw new RecalldError(
          'file_malformed',
          `${this.#path}: Both the query ${quoted(query)} and its step ${quoted(first)} have results; keep either the results of the query or the results of its steps.`,
        );
      const judged = judgedLikeSteps.get(query);
      if (judged !== undefined)
        throw new RecalldError(
          'file_malformed',
          `${this.#path}: The query id ${quoted(first)} is ambiguous, because ${qrelsPath} has judgments for ${quoted(judged)} as a separate query: ${quoted(first)} may be a step of ${quoted(query)}, or a separate query without judgments. Rename one of these ids.`,
        );
      yield [place, ordered.map(([, ranking]) => ranking)];
    }
  }

  get size(): number {
    return this.#rankings.size;
  }
}
