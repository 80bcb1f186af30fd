/** The monitored service in a world: its contents and its responses, healthy or under a condition. */
import type { Call, Condition, GoldenLine, LiveAsk, ManifestLine, Since } from './fault.ts';
import type { Front } from './rag-service.ts';
import { createSearch, type Hit, type Search } from './search.ts';
import { type Material, type Query, type Row, shownDocument } from './shape.ts';
import type { ServiceStore } from './stores.ts';
import type { VectorOf } from './vectors.ts';

export interface Service extends Front {
  /** Current rows of the store. */
  readonly rows: () => readonly Row[];
  readonly condition: () => Condition;
  /** Applies a condition, or removes it. */
  change(condition: Condition, now: Date): Promise<void>;
  /** Advances the time. If the rows of the current condition change over time, updates the store and its index. */
  passUntil(now: Date): Promise<void>;
  drawLive: () => LiveAsk;
  /**
   * nDCG@10 of the service's current results for the golden set, according to the true judgments. Omits withdrawn
   * documents, and queries whose relevant documents are all withdrawn.
   */
  trueNdcg(): number;
}

const WRITTEN_AT = '2026-01-05T00:00:00.000Z';

export function goldenLines({ golden, shape }: Material): GoldenLine[] {
  return golden.map(({ id, text, topic, language, relevant }) => ({
    id,
    text,
    tags: { topic, ...(isBilingual(shape.corpus) ? { language } : {}) },
    relevant,
  }));
}

export function isBilingual(corpus: string): boolean {
  return corpus.split('-').length === 3;
}

/** Returns the segments of a query; live and golden queries use the same segments. */
export function segmentsOf({ shape }: Material, { topic, language }: Query): Record<string, string> {
  return { topic, ...(isBilingual(shape.corpus) ? { language } : {}) };
}

function manifestOf(rows: readonly Row[]): ManifestLine[] {
  return rows.map(({ id, version }) => ({ id, hash: version, updated_at: WRITTEN_AT }));
}

/** The search returns the same results for the same call until a condition changes, so each search runs once. */
function remembered(search: Search): Search {
  const known = new Map<string, readonly Hit[]>();
  return (asked) => {
    const { text, k, segments: _segments, origin: _origin, ...special } = asked;
    if (Object.keys(special).length > 0) return search(asked);
    const key = `${k} ${text}`;
    const hits = known.get(key) ?? search(asked);
    known.set(key, hits);
    return hits;
  };
}

export function createService(
  material: Material,
  store: ServiceStore,
  pick: (queries: readonly Query[]) => Query,
): Service {
  let condition: Condition = {};
  let since = new Date(0);
  let rows = material.rows;
  const healthySearch = remembered(createSearch(material.shape, material.rows, material.embed));
  let embed: VectorOf = material.embed;
  let core = healthySearch;
  let call: Call = replyOf(healthySearch);
  let draw: () => LiveAsk = () => askOf(pick(material.live));
  let now = since;

  const hold = async (next: readonly Row[]): Promise<void> => {
    rows = next;
    await store.fill(next);
  };
  const rebuild = (): void => {
    core =
      rows === material.rows && embed === material.embed
        ? healthySearch
        : remembered(createSearch(material.shape, rows, embed));
    const search = condition.search?.(core) ?? core;
    const answer = replyOf(search);
    call = condition.call?.(answer) ?? answer;
  };
  const sinceOnset = (): Since => ({ minutes: Math.max(0, (now.getTime() - since.getTime()) / 60_000) });
  return {
    rows: () => rows,
    condition: () => condition,
    async change(next, at) {
      condition = next;
      since = at;
      now = at;
      embed = condition.embed?.(material.embed) ?? material.embed;
      const healthyDraw = (): LiveAsk => askOf(pick(material.live));
      draw = condition.traffic?.(healthyDraw) ?? healthyDraw;
      await hold(condition.rows?.(material.rows, sinceOnset()) ?? material.rows);
      rebuild();
    },
    async passUntil(at) {
      now = at;
      if (condition.goesOn !== true || condition.rows === undefined) return;
      await hold(condition.rows(material.rows, sinceOnset()));
      rebuild();
    },
    call: (asked) => call(asked),
    embed: (text) => embed(text),
    manifest: () => condition.manifest?.(manifestOf(material.rows), since) ?? manifestOf(material.rows),
    drawLive: () => draw(),
    trueNdcg() {
      const { withdrawn } = condition;
      const golden = material.golden.flatMap((query) => {
        const relevant = query.relevant.filter((id) => withdrawn?.has(id) !== true);
        return relevant.length === 0 ? [] : [{ ...query, relevant }];
      });
      const scores = golden.map((query) => {
        const asked = { text: query.text, k: 10, segments: segmentsOf(material, query), origin: 'golden' } as const;
        const reply = call(asked);
        return reply.kind === 'hits'
          ? ndcg(
              reply.hits.map((hit) => shownDocument(material, query, hit)),
              query.relevant.length,
            )
          : 0;
      });
      return scores.reduce((sum, one) => sum + one, 0) / scores.length;
    },
  };
}

function askOf(query: Query): LiveAsk {
  return { query, text: query.text };
}

function replyOf(search: Search): Call {
  return (asked) => ({ kind: 'hits', hits: search(asked), latencyMs: 0 });
}

/**
 * nDCG@10 with binary grades; each document counts only once.
 *
 * @param shown the relevant document that each result shows
 * @param relevant number of relevant documents
 */
function ndcg(shown: readonly (string | null)[], relevant: number): number {
  const seen = new Set<string>();
  let gain = 0;
  for (const [at, id] of shown.slice(0, 10).entries()) {
    if (id === null || seen.has(id)) continue;
    gain += 1 / Math.log2(at + 2);
    seen.add(id);
  }
  let ideal = 0;
  for (let at = 0; at < Math.min(10, relevant); at++) ideal += 1 / Math.log2(at + 2);
  return ideal === 0 ? 0 : gain / ideal;
}
