import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { updateTimelines } from '../../../../src/incidents/diagnosis/rules/incident.ts';
import { renderReport } from '../../../../src/report/status/report/report-page.tsx';
import type { ReportedSet, WeeklyReport } from '../../../../src/report/status/weekly-report.ts';
import { aFloor, aGoldenRun, anAlert, anIncident, aScore, NOON } from '../../../support/builders.ts';
import { aMeasurement } from '../../../support/measurements.ts';
import { aTopic } from '../../../support/uncovered-topics.ts';

const HOUR_MS = 3_600_000;
const HOURS = 168;
/** Returns the time `hour` hours after the start of the week. */
const at = (hour: number) => new Date(NOON.getTime() + (hour - HOURS) * HOUR_MS);

const scores = (hour: number) => {
  const fell = hour > 120 && hour < 146 ? 0.09 : 0;
  const wave = Math.sin(hour / 9) * 0.006;
  return [
    ['ndcg', 0.842],
    ['hit_rate', 0.955],
    ['mrr', 0.811],
    ['recall', 0.902],
    ['unjudged', 0.31],
  ].map(([measure, level]) => {
    const mean = Number(level) - fell + wave;
    const of = measure as 'ndcg';
    return aScore({ measure: of, k: 10, mean, ciLow: mean - 0.02, ciHigh: mean + 0.018, n: 300 });
  });
};

const difference = {
  key: { measure: 'ndcg', k: 10 },
  segment: 'all',
  excluded: 2,
  measure: 'ndcg',
  n: 298,
  baseline: 0.845,
  candidate: 0.842,
  difference: -0.003,
  ciLow: -0.009,
  ciHigh: 0.003,
  ciMethod: 't',
  p: 0.31,
  t: -1,
  df: 297,
  pT: 0.31,
  pRandomization: 0.31,
  pMethod: 'monte_carlo',
  mcnemarP: null,
  changed: 12,
  wins: 5,
  losses: 7,
  ties: 286,
  standardDeviation: 0.05,
  smallestDetectableDifference: 0.008,
  verdict: 'inconclusive',
} as const;

const set: ReportedSet = {
  goldenSet: 'support-faq',
  version: {
    name: 'support-faq',
    version: 3,
    contentHash: 'abc',
    format: 'csv',
    importedAt: at(0),
    queries: 300,
    judgments: 1240,
    origin: 'human',
    note: null,
  },
  runs: Array.from({ length: 56 }, (_, index) => ({
    runId: `run-${index}`,
    goldenSetVersion: 3,
    status: 'completed' as const,
    startedAt: at(3 * index),
    verdicts: ['ok'] as const,
    scores: scores(3 * index),
  })),
  last: {
    run: aGoldenRun({ labels: { probed: 1180, stale: 14, deleted: 4, lost: 9, deadQueries: 3, gap: null } }),
    scores: scores(165),
    baseline: { kind: 'baseline', against: 'run-0', differences: [difference] },
  },
  representativeness: aMeasurement({ value: 0.71, ciLow: 0.66, ciHigh: 0.75 }),
  floors: new Map([['ndcg@10', aFloor()]]),
};

const incident = anIncident({
  cause: 'index_lost_documents',
  openedAt: at(121),
  closedAt: at(146),
  timeline: updateTimelines(
    updateTimelines(
      [],
      [
        anAlert({
          name: 'ndcg@10 below 0.8',
          text: 'ndcg@10 of support-faq is 0.7520, upper bound 0.7701, below 0.8000.',
        }),
      ],
      at(121),
    ),
    [],
    at(146),
  ),
});

const series = (measure: string, level: number, size: number, least: number) =>
  Array.from({ length: HOURS }, (_, hour) => {
    const value = level + size * (Math.sin(hour / 14) * 0.1 + (hour > 118 ? (hour - 118) * 0.01 : 0));
    const bounds = {
      ciLow: Math.max(least, value - Math.abs(size) * 0.15),
      ciHigh: value + Math.abs(size) * 0.15,
    };
    return aMeasurement({ measure, windowEnd: at(hour), value, ...bounds });
  });

const topic = {
  ...aTopic({ windowEnd: at(167), label: ['parental', 'leave'] }),
  state: 'open' as const,
  firstSeen: at(119),
  changedAt: null,
  note: null,
};

const report: WeeklyReport = {
  pipeline: 'support-docs',
  from: at(0),
  until: NOON,
  showsText: true,
  sets: [set],
  incidents: [
    {
      ...incident,
      id: '9',
      cause: 'unknown',
      confidence: 'low',
      severity: 'warning',
      openedAt: at(140),
      closedAt: null,
      timeline: updateTimelines(
        [],
        [anAlert({ name: 'density drift', severity: 'warning', text: 'A ticket for query density is open.' })],
        at(140),
      ),
    },
    incident,
    { ...incident, id: '3', openedAt: at(30), closedAt: at(30.2) },
  ],
  density: {
    isWatched: true,
    series: {
      query_density: series('query_density', 1, -0.6, 0),
      query_uncovered_ratio: series('query_uncovered_ratio', 0.05, 0.12, 0),
    },
    events: [
      {
        id: '7',
        pipeline: 'support-docs',
        kind: 'ticket',
        occurredAt: at(140),
        sentence: 'Query density of support-docs fell to 0.90 (95 % 0.86 to 0.94), where 1 is as in the baseline.',
        details: {},
      },
    ],
    budget: { count: 1, periodMs: 365 * 24 * HOUR_MS },
  },
  topics: [
    {
      topic,
      windows: Array.from({ length: 40 }, (_, hour) => ({
        windowEnd: at(119 + hour),
        sessions: 40,
        trafficShare: 0.02 + hour / 500,
        excessPoints: 5,
        density: 0.2,
      })),
      texts: new Map([
        ['q1', 'how long is <b>parental</b> leave'],
        ['q2', 'can both parents take leave at once'],
      ]),
    },
  ],
  deployments: [
    {
      id: '1',
      pipeline: 'support-docs',
      kind: 'index',
      version: 'v8',
      note: 'new shards',
      occurredAt: at(120),
      source: 'annotated',
      changes: [],
    },
  ],
  truncated: [],
};

const assets = path.resolve(import.meta.dirname, '../../../../src/report/console/assets');
const style = ['style.css', 'report.css'].map((name) => readFileSync(path.join(assets, name), 'utf8')).join('\n');
const html = (parts: Partial<WeeklyReport> = {}) => renderReport({ ...report, ...parts }, NOON, '1.2.3', style);

describe('the weekly report', () => {
  it('shows scores, incidents, coverage, topics, judgments and pages', () => {
    const text = html()
      .replaceAll(/<(style|svg)\b.*?<\/\1>/gs, '')
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ');
    const words = [
      'nDCG@10 0.8',
      'inconclusive',
      'new shards',
      'ndcg@10 below 0.8',
      '25 h',
      'documents missing from the index high confidence',
      'unknown low confidence',
      '28 h open',
      'fell to 0.90',
      'parental leave',
      'can both parents take leave at once',
      '1.9 % 10 superseded, 4 deleted, 9 lost of 1 180 3 queries have only stale labels',
      '69 %',
      '71 %',
      'recalld does not know which pages were false',
      'accepts 0.019 false pages in this period (1 page per 365 d',
    ];
    expect(words.filter((one) => !text.includes(one))).toEqual([]);
  });

  it('is self-contained: no external resources, no scripts, and all text is escaped', () => {
    const page = html();
    expect(page).not.toMatch(/<(script|link|img|iframe|object|a )\b|\bon\w+="|@import|url\(|(src|href)="/);
    expect(page).toContain("default-src 'none'");
    expect(page).not.toContain('<b>');
    expect(page.match(/class="band"/g)?.length).toBeGreaterThanOrEqual(6);
    expect(page).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('uses every element id only once', () => {
    const ids = [...html({ sets: [set, { ...set, goldenSet: 'other' }] }).matchAll(/ id="([^"]+)"/g)].map(
      ([, id]) => id,
    );
    expect(ids.length).toBe(new Set(ids).size);
  });

  it('shows no query text if the config stores hashes', () => {
    const page = html({ showsText: false });
    expect(page).not.toContain('parental');
    expect(page).not.toContain('both parents');
    expect(page).toContain('privacy.text: hash');
  });

  it('gives a reason for each empty section', () => {
    const empty = html({
      sets: [],
      incidents: [],
      topics: [],
      deployments: [],
      density: {
        isWatched: false,
        series: { query_density: [], query_uncovered_ratio: [] },
        events: [],
        budget: null,
      },
    });
    const words = [
      'This pipeline has no golden set.',
      'No alerts fired in this period',
      'Query density is not monitored for this pipeline',
      'The search for topics starts once there is a baseline',
      'there is no budget for false pages',
    ];
    expect(words.filter((one) => !empty.includes(one))).toEqual([]);
    expect(html({ sets: [{ ...set, runs: [], last: null }] })).toContain('No run completed in this period');
    expect(html({ truncated: ['incidents'] })).toContain('there are too many incidents');
  });
});
