/** Every configured check: how it stands, since when, why, what is likely behind it, and when it changed. */

import { scaleUtc } from 'd3-scale';
import type { ConsoleDeps } from '../../app/console/console-api.ts';
import { duration, minute, score } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import { HOUR_MS } from '../../core/time.ts';
import { DiagnosisPanel } from '../../incidents/diagnosis/edge/pages/diagnosis.tsx';
import type { Incident } from '../../incidents/diagnosis/rules/incident.ts';
import {
  agoOf,
  Empty,
  Instant,
  PipelineChoice,
  Section,
  Sentence,
  Table,
  VerdictBadge,
} from '../../report/console/components.tsx';
import type { Query } from '../../report/console/http/visit.ts';
import {
  address,
  checkHistoryPath,
  minuteOf,
  pipelinePath,
  type TimeRange,
  within,
} from '../../report/console/links.ts';
import { type Frame, Page } from '../../report/console/page.tsx';
import { chosen, namesOf } from '../../report/status/status-reads.ts';
import type { CheckTransition } from '../check-store.ts';
import type { CheckState } from '../rules/check-state.ts';
import { CheckTable } from './check-table.tsx';

export function ChecksPage({ frame, data }: { readonly frame: Frame; readonly data: ChecksPageData }) {
  const { checks, incidents, pipelines, pipeline, check } = data;
  const failing = checks.filter(({ verdict, isQuiet }) => verdict !== 'ok' && !isQuiet);
  const quiet = checks.filter(({ isQuiet }) => isQuiet);
  const holding = checks.filter(({ verdict, isQuiet }) => verdict === 'ok' && !isQuiet);
  const inAlarm = new Set(failing.flatMap(({ verdict, pipeline: own }) => (verdict === 'no_data' ? [] : [own])));
  const table = (caption: string, shown: readonly CheckState[]) => (
    <CheckTable caption={caption} checks={shown} range={frame.range} now={frame.now} withPipeline={pipeline === null} />
  );
  return (
    <Page frame={frame} title="Checks" section="checks" {...(pipeline === null ? {} : { pipeline })}>
      <PipelineChoice frame={frame} path="/checks" pipelines={pipelines} chosen={pipeline} />
      {check === null ? null : (
        <p class="chosen">
          Only <strong>{check}</strong>. <a href={within(frame.range, '/checks', { pipeline })}>All checks</a>
        </p>
      )}
      {checks.length === 0 ? (
        <NoCheck check={check} />
      ) : (
        <>
          <Section id="failing" title="Need somebody">
            {failing.length === 0 ? (
              <p class="lead">None: every check holds that has something to judge.</p>
            ) : (
              table('Checks that do not hold', failing)
            )}
            {incidents
              .filter((one) => inAlarm.has(one.pipeline))
              .map((incident) => (
                <DiagnosisPanel key={incident.id} diagnosis={incident} range={frame.range} />
              ))}
          </Section>
          {quiet.length === 0 ? null : (
            <Section
              id="quiet"
              title="Wait for data"
              lead="Too little has come to judge these, which the config takes as no alarm."
            >
              {table('Checks that wait for data', quiet)}
            </Section>
          )}
          {holding.length === 0 ? null : (
            <Section id="holding" title="Hold">
              {table('Checks that hold', holding)}
            </Section>
          )}
        </>
      )}
      <CheckHistory frame={frame} data={data} />
    </Page>
  );
}

function NoCheck({ check }: Pick<ChecksPageData, 'check'>) {
  if (check !== null) {
    return <Empty why={`The config has no check "${check}" now; what is kept of it stands below.`} />;
  }
  return (
    <Empty
      why="No check is configured, so nothing would say that retrieval got worse."
      todo={
        <>
          Add some under <code>checks</code> of a pipeline, such as{' '}
          <code>{'{measure: ndcg@10, below: 0.8, severity: critical}'}</code>.
        </>
      }
    />
  );
}

function CheckHistory({ frame, data }: { readonly frame: Frame; readonly data: ChecksPageData }) {
  const { transitions, older, pipeline, check } = data;
  const { range } = frame;
  const path = within(range, '/checks', { pipeline, check, before: older });
  return (
    <Section
      id="history"
      title={check === null ? 'History' : `History of ${check}`}
      lead="Changes of verdicts in this time, newest first. The strips show how each check stood: the worse, the higher."
    >
      <Strips frame={frame} data={data} />
      {transitions.length === 0 ? (
        <p class="lead">No check changed its verdict in this time. Choose a longer one to look further back.</p>
      ) : (
        <Table
          caption="Changes of verdicts, newest first"
          columns={[
            { title: 'When (UTC)' },
            { title: 'Check' },
            { title: 'Became' },
            { title: 'For', isNumber: true },
            { title: 'Value', isNumber: true, isMinor: true },
          ]}
          rows={transitions.map((one) => ({ key: one.id, cells: cellsOf(one, frame, data) }))}
        />
      )}
      {older === null ? null : (
        <p class="pager">
          <a href={`${path}#history`}>Older changes</a>
        </p>
      )}
    </Section>
  );
}

function cellsOf(transition: CheckTransition, { range, now }: Frame, data: ChecksPageData) {
  const { pipeline, check, from, to, occurredAt, endedAt, value, segment, explanation } = transition;
  const lasted = agoOf(occurredAt, endedAt ?? now);
  const isConfigured = data.checks.some((one) => one.pipeline === pipeline && one.name === check);
  return [
    <a href={evidencePath(transition, data)} aria-label={`What was measured around ${minute(occurredAt)}`}>
      <Instant at={occurredAt} />
    </a>,
    <>
      <a href={checkHistoryPath(range, pipeline, check)}>{check}</a>
      {data.pipeline === null ? <span class="of"> {pipeline}</span> : null}
      <span class="why">
        <Sentence>{explanation}</Sentence>
      </span>
    </>,
    <>
      <VerdictBadge verdict={to} />
      <span class="severity">{from === null ? 'first judged' : `was ${words[from]}`}</span>
    </>,
    <span class="instant">
      {duration(lasted)}
      {endedAt === null ? <span class="severity">{isConfigured ? 'so far' : 'no longer configured'}</span> : null}
    </span>,
    <>
      {value === null ? '' : score(value)}
      {segment === null || segment === 'all' ? null : <span class="severity">{segment}</span>}
    </>,
  ];
}

const words = { ok: 'OK', warning: 'a warning', critical: 'critical', no_data: 'without data' } as const;

/** What a check was judged by, an hour around the change. */
function evidencePath({ pipeline, check, occurredAt }: CheckTransition, { checks }: ChecksPageData): string {
  const known = checks.find((one) => one.pipeline === pipeline && one.name === check);
  const around = {
    from: minuteOf(new Date(occurredAt.getTime() - HOUR_MS)),
    until: minuteOf(new Date(occurredAt.getTime() + HOUR_MS)),
  };
  if (known?.kind === 'density_drift') return address(pipelinePath(pipeline, 'density'), around);
  if (known !== undefined && known.goldenSet !== null)
    return address(pipelinePath(pipeline, 'golden'), { set: known.goldenSet, ...around });
  return address(pipelinePath(pipeline, 'traffic'), around);
}

function Strips({ frame: { range, now }, data }: { readonly frame: Frame; readonly data: ChecksPageData }) {
  const { checks, transitions, pipeline, isWhole } = data;
  // From some of the changes no strip can be told.
  if (!isWhole) return null;
  const { from } = range;
  const until = range.until > now ? now : range.until;
  const strips = checks.flatMap((state) => {
    const { pipeline: own, name } = state;
    const changes = transitions.filter((one) => one.pipeline === own && one.check === name);
    const intervals = verdictIntervals(changes, state, from, until);
    return intervals.length === 0 ? [] : [{ label: pipeline === null ? `${own}: ${name}` : name, intervals }];
  });
  if (strips.length === 0) return null;
  return (
    <ul class="strips">
      {strips.map(({ label, intervals }) => (
        <li key={label}>
          <span class="of">{label}</span>
          <VerdictStrip name={label} intervals={intervals} from={from} until={until} />
        </li>
      ))}
      <li aria-hidden="true">
        <span />
        <span class="strip-ends of">
          <span>{minute(from)}</span>
          <span>{minute(until)}</span>
        </span>
      </li>
    </ul>
  );
}

const WIDTH = 640;
const HEIGHT = 18;
/** Of a interval that is too short to be seen otherwise. */
const MIN_WIDTH = 2;

const heights: Record<Verdict, number> = { ok: 5, warning: 11, critical: HEIGHT, no_data: 8 };

const verdictNames: Record<Verdict, string> = {
  ok: 'OK',
  warning: 'warning',
  critical: 'critical',
  no_data: 'no data',
};

interface VerdictStripProps {
  readonly name: string;
  readonly intervals: readonly VerdictInterval[];
  readonly from: Date;
  readonly until: Date;
}

function VerdictStrip({ name, intervals, from, until }: VerdictStripProps) {
  const scale = scaleUtc([from, until], [0, WIDTH]);
  const x = (at: Date): number => Math.round(scale(at) * 10) / 10;
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={describe(name, intervals)}
    >
      {intervals.map(({ verdict, from: start, until: end }) => (
        <rect
          key={start.getTime()}
          class={verdict}
          x={x(start)}
          y={HEIGHT - heights[verdict]}
          width={Math.max(MIN_WIDTH, x(end) - x(start))}
          height={heights[verdict]}
        >
          <title>{`${verdictNames[verdict]} from ${minute(start)} to ${minute(end)}`}</title>
        </rect>
      ))}
    </svg>
  );
}

function describe(name: string, intervals: readonly VerdictInterval[]): string {
  const total = (verdict: Verdict): number =>
    intervals
      .filter((interval) => interval.verdict === verdict)
      .reduce((sum, { from, until }) => sum + until.getTime() - from.getTime(), 0);
  const parts = (['critical', 'warning', 'no_data', 'ok'] as const).flatMap((verdict) =>
    total(verdict) === 0 ? [] : [`${verdictNames[verdict]} for ${duration(total(verdict) / 1000)}`],
  );
  return `${name}: ${parts.length === 0 ? 'not judged' : parts.join(', ')}`;
}

export interface VerdictInterval {
  readonly verdict: Verdict;
  readonly from: Date;
  readonly until: Date;
}

/**
 * The intervals of one check from `from` to `until`, oldest first. What came before the first change is told by what it
 * changed from; a check that never changed within that time stood then as it does now. Before it was first judged
 * there is no interval.
 *
 * @param transitions of the check within that time, in any order
 * @param now how it stands
 */
export function verdictIntervals(
  transitions: readonly Pick<CheckTransition, 'from' | 'to' | 'occurredAt' | 'endedAt'>[],
  now: Pick<CheckState, 'verdict' | 'since'>,
  from: Date,
  until: Date,
): VerdictInterval[] {
  const ordered = transitions.toSorted((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime());
  const [first] = ordered;
  if (first === undefined) {
    if (now.since === null || now.since >= until) return [];
    return [{ verdict: now.verdict, from: later(from, now.since), until }];
  }
  const before = first.from === null ? [] : [{ verdict: first.from, from, until: first.occurredAt }];
  const after = ordered.map(({ to, occurredAt, endedAt }) => ({
    verdict: to,
    from: occurredAt,
    until: endedAt === null || endedAt > until ? until : endedAt,
  }));
  return [...before, ...after];
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b;
}

export interface ChecksPageData {
  /** Of the chosen pipeline and check. */
  readonly checks: readonly CheckState[];
  /** Those that are open. */
  readonly incidents: readonly Incident[];
  /** Changes within the range, newest first. */
  readonly transitions: readonly CheckTransition[];
  /** Id behind which older ones are; null when there are none. */
  readonly older: string | null;
  /** Whether these are all changes within the range. */
  readonly isWhole: boolean;
  readonly pipelines: readonly string[];
  /** Null: all of them. */
  readonly pipeline: string | null;
  /** Null: all of them. */
  readonly check: string | null;
}

const MAX_TRANSITIONS = 100;

/** @throws RecalldError pipeline_unknown */
export async function readChecksPage(
  deps: ConsoleDeps,
  query: Query,
  { from, until }: TimeRange,
): Promise<ChecksPageData> {
  const pipeline = chosen(deps, query);
  const check = query['check'] === undefined || query['check'] === '' ? null : query['check'];
  const before = /^\d{1,18}$/.test(query['before'] ?? '') ? query['before'] : undefined;
  const [checks, incidents, found] = await Promise.all([
    deps.readCheckStates(),
    deps.incidents.open(),
    deps.checkStore.transitions({
      since: from,
      until,
      limit: MAX_TRANSITIONS + 1,
      ...(pipeline === null ? {} : { pipeline }),
      ...(check === null ? {} : { check }),
      ...(before === undefined ? {} : { before }),
    }),
  ]);
  const transitions = found.slice(0, MAX_TRANSITIONS);
  const hasMore = found.length > transitions.length;
  return {
    pipeline,
    check,
    pipelines: namesOf(deps),
    checks: checks.filter(
      (one) => (pipeline === null || one.pipeline === pipeline) && (check === null || one.name === check),
    ),
    incidents,
    transitions,
    older: hasMore ? (transitions.at(-1)?.id ?? null) : null,
    isWhole: before === undefined && !hasMore,
  };
}
