/**
 * What a daemon with weeks of data shows outside its console: dashboards on a real Prometheus, reports, uncovered
 * topics, and the backtest.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiOf } from '../support/api.ts';
import { expressions, fillIn, fillInSql, readDashboards, statements } from '../support/dashboards.ts';
import { missing } from '../support/missing.ts';
import { type Prometheus, startPrometheus } from '../support/prometheus.ts';
import { aDatabase, runRecalld } from '../support/recalld.ts';
import { waitFor } from '../support/wait-for.ts';
import { TOPIC, type WatchedService } from './watched-service.ts';

const dashboards = readDashboards();
const rules = readFileSync(path.resolve(import.meta.dirname, '../../deploy/prometheus/recalld.rules.json'), 'utf8');
const values = {
  cluster: '.*',
  namespace: '.*',
  job: 'recalld',
  instance: '.+',
  pipeline: 'docs',
  golden_set: 'faq',
  segment: 'all',
  k: '10',
};

/**
 * Panels that have no data because this service lacks one of the following: isolation rules, a judge, a platform for
 * scores, a shadow, variants, stages, document texts, forbidden documents, an hour for replaying the baseline, an index
 * manifest, a silence, or days of feedback and measurements from which normal ranges are learned.
 */
const ABSENT =
  /recalld_(evaluation_requests|live_(isolation|ndcg|precision|hit_rate|mrr|judged|drop)|judge_|judged_|human_agreement|episode_(hit|judged)|rewrite_(gain|judged)|query_(context|main_language)|golden_(union_recall|all_found|forbidden|context|false_answer|no_answer|stage_)|repeat_density|shadow_|variant_|experiment_|feedback_(drop|baseline|latest)|measure_(changed|value|normal)|normal_range|silenced)|recalld_index_(?!info)/;

/**
 * True for queries that may return no data, because they select only values above 0, active states, or thresholds of
 * checks that may be missing in the config.
 */
const isOccasional = (text: string): boolean => /(> 0|== 1)$/.test(text) || text.includes('(above|below)');

/**
 * These tests change only one topic, the confirmation of one incident, and the state changes of one check that is not
 * in the config.
 */
export function describeHistory(watched: () => WatchedService): void {
  describe.skipIf(missing('prometheus'))('on a daemon with history', () => {
    let service: WatchedService;
    let prometheus: Prometheus;
    let database: Client;
    const cleanups: (() => Promise<void>)[] = [];

    beforeAll(async () => {
      const atEnd = (clean: () => Promise<void>): void => void cleanups.push(clean);
      service = watched();
      prometheus = await startPrometheus(service.daemon.url, rules, atEnd);
      database = await aDatabase(service.folder, atEnd);
      // Confirms the incident, as its second evaluation would.
      await waitFor(
        async () => (await database.query('update incidents set confirmed_at = evaluated_at')).rowCount === 1,
      );
    }, 180_000);
    afterAll(async () => {
      for (const clean of cleanups.toReversed()) await clean();
    });

    it.each(dashboards)('every graph in $name has data', async (dashboard) => {
      await waitFor(async () => {
        const empty: string[] = [];
        for (const { where, text } of expressions(dashboard)) {
          if (ABSENT.test(text) || isOccasional(text)) continue;
          if ((await prometheus.query(fillIn(text, values))).length === 0) empty.push(where);
        }
        expect(empty).toEqual([]);
        return true;
      });
    });

    it('the confidence bounds of each band enclose its value', async () => {
      const banded = dashboards.flatMap((dashboard) =>
        dashboard.panels.flatMap(({ title, type, targets = [] }) => {
          const [value, low, high] = targets;
          return type === 'timeseries' &&
            low?.expr?.includes('_ci_low') &&
            high?.expr?.includes('_ci_high') &&
            value?.expr !== undefined &&
            !ABSENT.test(value.expr)
            ? [{ where: `${dashboard.name}: ${title}`, queries: [low.expr, value.expr, high.expr] }]
            : [];
        }),
      );
      expect(banded.length).toBeGreaterThan(20);
      for (const { where, queries } of banded) {
        const found: number[][] = [];
        for (const query of queries) {
          found.push((await prometheus.query(fillIn(query, values))).map(({ value }) => Number(value[1])));
        }
        // Each query must return one series; otherwise, Grafana would fill the area between unrelated series.
        expect({ where, series: found.map((each) => each.length) }).toEqual({ where, series: [1, 1, 1] });
        const numbers = found.flat();
        expect({ where, numbers }).toEqual({ where, numbers: numbers.toSorted((a, b) => a - b) });
      }
    });

    it('every dashboard variable has values', async () => {
      const queries = dashboards.flatMap(({ name, variables }) =>
        variables.flatMap((variable) =>
          // Skips Kubernetes variables: they have no values here, and select all values by `.*`.
          variable.type === 'query' && variable.allValue !== '.*'
            ? [{ where: `${name}: ${variable.name}`, query: variable.query ?? '' }]
            : [],
        ),
      );
      const empty: string[] = [];
      for (const { where, query } of queries) {
        const [, match = '', label = ''] = /^label_values\((.+), (\w+)\)$/s.exec(query) ?? [];
        if (ABSENT.test(match)) continue;
        if ((await prometheus.labelValues(label, fillIn(match, values))).length === 0) empty.push(where);
      }
      expect(empty).toEqual([]);
    });

    it.each(dashboards.filter((one) => statements(one).length > 0))(
      'every table in $name has rows',
      async (dashboard) => {
        const time = { from: new Date(Date.now() - 3_600_000), to: new Date() };
        for (const { where, text } of statements(dashboard)) {
          const { rows } = await database.query(fillInSql(text, values, time));
          expect({ where, rows: rows.length > 0 }).toEqual({ where, rows: true });
        }
      },
    );

    it('the drill-down lists the regressed queries, worst first', async () => {
      const { rows } = await database.query<{ query: string; difference: number; 'stale label': boolean }>(
        fillInSql(tableOf('Most regressed queries since the baseline'), values, {
          from: new Date(0),
          to: new Date(),
        }),
      );
      // Two queries no longer find their document, which was deleted; ten find theirs at rank 3.
      expect(rows.map(({ difference }) => difference)).toEqual([...Array(2).fill(-1), ...Array(10).fill(-0.5)]);
      expect(rows.slice(0, 2).map((row) => row['stale label'])).toEqual([true, true]);
    });

    it('the weekly report is one self-contained file, and is not replaced without --force', async () => {
      const opened = new Date(Date.now() - 2 * 3_600_000);
      const closed = new Date(Date.now() - 3_600_000);
      const timeline = {
        name: 'error_ratio above 0.2',
        rule: 'RecalldCheckCritical',
        goldenSet: null,
        severity: 'critical',
        currentSeverity: null,
        openedAt: opened,
        endedAt: closed,
        criticalAt: [opened],
        worst: { at: opened, headline: 'error ratio 0.3, above 0.2', text: 'error_ratio is 0.3.', value: 0.3 },
        recovered: null,
      };
      await database.query(
        `with incident as (
           insert into incidents (pipeline, opened_at, closed_at, severity, evaluated_at, timeline)
           values ('docs', $1, $2, 'critical', $2, $3::jsonb) returning id)
         insert into diagnoses (incident_id, diagnosed_at, cause, confidence, probability, summary, alerts, findings)
         select id, $1, 'retriever_failing', 'high', 0.97, 'The retriever fails.', array['error_ratio above 0.2'],
                '{"ranked": [], "signs": [], "weighed": [], "effects": [], "failedShare": null, "also": []}' from incident`,
        [opened, closed, JSON.stringify([timeline])],
      );
      const from = new Date(Date.now() - 7 * 24 * 3_600_000).toISOString();
      const review = ['report', '--pipeline', 'docs', '--from', from, '--out', 'reviews/week.html'];
      const { code, stdout, stderr } = await runRecalld(review, service.folder);
      expect({ code, stdout, stderr }).toEqual({
        code: 0,
        stdout: 'Wrote the report on docs to reviews/week.html.\n',
        stderr: '',
      });
      const page = readFileSync(path.join(service.folder, 'reviews/week.html'), 'utf8');
      for (const words of [
        'Scores of faq at 10',
        'index v8 (ef 40)',
        'regression',
        'Incidents and their causes',
        'error_ratio is 0.3.',
        'Density drift',
        'parental leave',
        'question 1',
        'Health of the golden sets',
        'Pages compared with the budget',
      ]) {
        expect(page.includes(words), words).toBe(true);
      }
      expect(/<(script|link|img|iframe|a )|url\(|@import|(src|href)="/.test(page)).toBe(false);

      const facts = await runRecalld([...review, '--force', '--json'], service.folder);
      expect(JSON.parse(facts.stdout)).toMatchObject({
        file: 'reviews/week.html',
        incidents: expect.arrayContaining([
          expect.objectContaining({
            severity: 'critical',
            opened_at: opened.toISOString(),
            closed_at: closed.toISOString(),
            cause: 'retriever_failing',
          }),
        ]),
        deployments: expect.arrayContaining([expect.objectContaining({ kind: 'index' })]),
        incomplete: [],
      });

      expect(await runRecalld(review, service.folder)).toMatchObject({
        code: 2,
        stderr: 'recalld: reviews/week.html already exists; use another path or add --force.\n',
      });
      const turned = [...review, '--force', '--to', '2020-01-01T00:00:00Z'];
      expect(await runRecalld(turned, service.folder)).toMatchObject({
        code: 2,
        stderr: 'recalld: Cannot write the report: --from must be before --to.\n',
      });
    });

    it('the uncovered topic is the same on the command line and in the API, and reflects changes by users', async () => {
      const call = apiOf(service.daemon.url);
      const listed = await runRecalld(['topics', 'list', '--pipeline', 'docs', '--json'], service.folder);
      const { json: answer } = await call('GET', '/v1/uncovered-topics?pipeline=docs');
      expect(answer['items']).toEqual(JSON.parse(listed.stdout));
      expect(answer['items']).toMatchObject([
        {
          id: TOPIC,
          name: 'parental leave',
          state: 'open',
          cause: 'new_demand',
          examples: [
            { query_id: 'today1', text: 'question 1' },
            { query_id: 'erased', text: null },
          ],
        },
      ]);
      const note = 'the handbook is being written';
      const acknowledged = await runRecalld(['topics', 'acknowledge', TOPIC, '--note', note], service.folder);
      expect(acknowledged).toMatchObject({ code: 0, stdout: `parental leave (${TOPIC}) is acknowledged.\n` });
      expect((await call('GET', `/v1/uncovered-topics/${TOPIC}`)).json).toMatchObject({
        state: 'acknowledged',
        note,
        windows: [{ traffic_share: 0.1 }],
      });
      const closed = await call('POST', `/v1/uncovered-topics/${TOPIC}`, { state: 'closed' });
      expect(closed).toMatchObject({ status: 200, json: { state: 'closed', note: null } });
      const shown = await runRecalld(['topics', 'show', TOPIC], service.folder);
      expect(shown.stdout).toContain('10 % of the traffic (7 % to 14 %)');
      expect(shown.stdout).toContain('\n  - question 1\n');
      expect((await runRecalld(['topics', 'list'], service.folder)).stdout).toBe('No uncovered topics.\n');
      expect((await call('GET', '/v1/uncovered-topics/t-nothing')).status).toBe(404);
    });

    it('the density is the same on the command line and in the API', async () => {
      const { json: answer } = await apiOf(service.daemon.url)('GET', '/v1/density?pipeline=docs');
      const shown = await runRecalld(['density', 'show', '--pipeline', 'docs', '--json'], service.folder);
      const { phase, baseline, incidents, measures } = JSON.parse(shown.stdout) as Record<string, unknown>;
      expect(answer).toMatchObject({ phase, baseline, incidents, measures });
      expect(answer).toMatchObject({
        phase: 'watching',
        baseline: { version: 1, grade: 'page', sessions: 4000 },
        measures: { query_density: { latest: { value: 0.93, ci_low: 0.9, ci_high: 0.96 } } },
      });
      const table = await runRecalld(['density', 'show', '--pipeline', 'docs'], service.folder);
      expect(table.stdout).toMatch(/^Query density +0\.93 \(0\.9-0\.96\)/m);
    });

    it('the backtest agrees with the daemon about the checks of the same runs', async () => {
      const from = new Date(Date.now() - 3_600_000).toISOString();
      const { code, stdout, stderr } = await runRecalld(['backtest', '--from', from, '--json'], service.folder);
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: 'Note: Density drift on docs is not replayed; `recalld checks --history` shows past density alerts.\n',
      });
      const checks = (JSON.parse(stdout) as BacktestJson).sets.flatMap((set) => set.checks);
      const { rows } = await database.query<{ name: string; judged: string; explanations: string[] }>(
        `select c.name, count(*) as judged,
         coalesce(array_agg(c.explanation) filter (where c.verdict <> 'ok'), '{}') as explanations
       from golden_run_checks c group by c.name order by c.name`,
      );
      expect(rows.length).toBeGreaterThan(5);
      for (const { name, judged, explanations } of rows) {
        const found = checks.find((check) => check.name === name);
        expect({ name, evaluations: found?.evaluations }).toEqual({ name, evaluations: Number(judged) });
        expect(found?.firings.length === 0).toBe(explanations.length === 0);
        for (const { verdict, example } of found?.firings ?? []) {
          // For a run without a baseline, the daemon suggests the command that pins one, and the backtest names the
          // run.
          if (verdict !== 'no_data') expect(explanations).toContain(example);
        }
      }
      expect(checks.flatMap(({ firings }) => firings.map(({ verdict }) => verdict))).toContain('critical');

      const table = await runRecalld(['backtest', '--from', from], service.folder);
      expect(table.stdout).toMatch(
        /^pipeline +check +evaluations +changes +verdict +times +total +longest +last start$/m,
      );
      const turned = await runRecalld(['backtest', '--from', from, '--to', '2020-01-01T00:00:00Z'], service.folder);
      expect(turned).toMatchObject({
        code: 2,
        stderr: 'recalld: --from must be before --to; swap the two times.\n',
      });
    });
  });
}

interface BacktestJson {
  readonly sets: readonly {
    readonly checks: readonly {
      readonly name: string;
      readonly evaluations: number;
      readonly firings: readonly { readonly verdict: string; readonly example: string }[];
    }[];
  }[];
}

function tableOf(title: string): string {
  const found = dashboards.flatMap(({ panels }) => panels).find((panel) => panel.title === title);
  return found?.targets?.[0]?.rawSql ?? '';
}
