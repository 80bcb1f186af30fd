/** Page of all checks: failing checks, checks without data, passing checks, and the verdict changes of each check. */
import { type Context, onReplica } from '../../core/context.ts';
import { duration, minute, plural } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import { HOUR_MS } from '../../core/time.ts';
import { diagnosisPanel } from '../../incidents/diagnosis/edge/pages/diagnosis.ts';
import type { Query } from '../../report/console/http/visit.ts';
import { checkHistory, minuteOf, pipelinePath, type TimeRange } from '../../report/console/links.ts';
import type { VerdictInterval } from '../../report/model/charts.ts';
import type { Content, Link, PageContent, Section, Table } from '../../report/model/content.ts';
import {
  age,
  empty,
  lead,
  link,
  more,
  note,
  pipelineChoices,
  quiet,
  section,
  strong,
  styledParagraph,
  table,
  time,
  value,
  verdictBadge,
  why,
} from '../../report/model/show.ts';
import { chosen } from '../../report/status/status-reads.ts';
import { type CheckTransition, readCheckStates } from '../check-store.ts';
import type { CheckState } from '../rules/check-state.ts';
import { type FoldedChange, foldFlapping } from '../rules/fold-flapping.ts';
import { checkTable, unitOf } from './check-table.ts';

/**
 * Maximum number of checks without data that are listed openly. A longer list is collapsed, so that failing checks and
 * the history stay in view.
 */
const MAX_OPEN = 10;

export function checksPage(data: ChecksPageData): PageContent {
  const { checks, incidents, pipelines, pipeline, check } = data;
  const of = (...verdicts: readonly Verdict[]) => checks.filter(({ verdict }) => verdicts.includes(verdict));
  const [failing, withoutData, passing] = [of('critical', 'warning'), of('no_data'), of('ok')];
  const firing = new Set(failing.map(({ pipeline: own }) => own));
  const shown = (caption: string, some: readonly CheckState[]) => checkTable(caption, some, pipeline === null);
  return {
    title: 'Checks',
    pipeline,
    section: 'checks',
    content: [
      pipelineChoices('/checks', pipelines, pipeline),
      check !== null &&
        styledParagraph('asked', 'Only ', strong(check), '. ', link('All checks', '/checks', { pipeline })),
      checks.length === 0
        ? noCheck(check)
        : [
            (failing.length > 0 || check === null) &&
              section(
                'failing',
                'Firing',
                {},
                failing.length === 0 ? lead('None: all checks with data pass.') : shown('Failing checks', failing),
                incidents
                  .filter((one) => firing.has(one.pipeline))
                  .map((incident) => diagnosisPanel(incident, 'brief')),
              ),
            withoutData.length > 0 &&
              section(
                'no-data',
                'No data',
                {},
                withoutData.length > MAX_OPEN
                  ? more(
                      `${plural(withoutData.length, 'check')} without data`,
                      shown('Checks without data', withoutData),
                    )
                  : shown('Checks without data', withoutData),
              ),
            passing.length > 0 &&
              section(
                'passing',
                'OK',
                {},
                check === null
                  ? more(`${plural(passing.length, 'check')} pass`, shown('Passing checks', passing))
                  : shown('Passing checks', passing),
              ),
          ],
      history(data),
    ],
  };
}

function noCheck(check: string | null): Content {
  if (check !== null) return empty(`The check "${check}" is no longer configured; its history is below.`);
  return empty(
    'No checks are configured, so a drop in retrieval quality would not be reported.',
    'Add a check under `checks` in a pipeline, such as `{measure: ndcg@10, below: 0.8, severity: critical}`.',
  );
}

function history(data: ChecksPageData): Section {
  const { transitions, older, pipeline, check } = data;
  return section(
    'history',
    check === null ? 'History' : `History of ${check}`,
    {
      lead: `${data.isWhole ? 'Verdicts over time; worse verdicts are higher. ' : ''}Open a check to see its changes, newest first.`,
    },
    strips(data),
    transitions.length === 0
      ? lead('No check changed its verdict in this period. Choose a longer period to see earlier changes.')
      : changesByCheck(data),
    older !== null &&
      styledParagraph('quiet', link('Older changes', '/checks', { pipeline, check, before: older }, 'history')),
  );
}

/**
 * Shows the verdict changes of each check, collapsed unless there is only one check. Checks with the longest total
 * failure time come first.
 */
function changesByCheck(data: ChecksPageData): Content {
  const { transitions, pipelines, pipeline, check } = data;
  const prefix = (own: string) => (pipeline === null && pipelines.length > 1 ? `${own}: ` : '');
  const names = [...new Set(transitions.map((one) => `${prefix(one.pipeline)}${one.check}`))];
  const found = names.map((name) => {
    const own = transitions.filter((one) => `${prefix(one.pipeline)}${one.check}` === name);
    const failures = own.filter(({ to }) => to === 'critical' || to === 'warning');
    const ms = failures.reduce((sum, one) => sum + (one.endedAt ?? data.now).getTime() - one.occurredAt.getTime(), 0);
    return { name, own, failures: failures.length, ms };
  });
  return found
    .toSorted((a, b) => b.ms - a.ms)
    .map(({ name, own, failures, ms }) => {
      const shown = changeTable(own, data);
      if (check !== null) return shown;
      const failed = failures === 0 ? 'no failure' : `${plural(failures, 'failure')}, ${duration(ms / 1000)} in total`;
      return more(`${name}: ${failed}`, shown);
    });
}

function newestOf(row: FoldedChange<CheckTransition>): CheckTransition {
  return row.kind === 'change' ? row.change : row.newest;
}

/** Returns a table of the verdict changes of one check. Consecutive changes between OK and no data are collapsed. */
function changeTable(transitions: readonly CheckTransition[], { checks }: ChecksPageData): Table {
  const stateOf = (one: CheckTransition) =>
    checks.find(({ pipeline, name }) => pipeline === one.pipeline && name === one.check);
  return table('Changes of verdicts, newest first', foldFlapping(transitions), [
    ['When (UTC)', (row) => evidence(newestOf(row), stateOf(newestOf(row)))],
    ['Became', (row) => became(newestOf(row))],
    [
      'Why',
      (row) =>
        row.kind === 'change'
          ? row.change.explanation
          : `No data ${plural(row.times, 'time')} since ${minute(row.oldest.occurredAt)}, without a failure in between.`,
    ],
    ['For', (row) => lasted(newestOf(row), stateOf(newestOf(row)) !== undefined), 'number'],
    ['Value', (row) => row.kind === 'change' && measured(row.change, stateOf(row.change)), 'minor number'],
  ]);
}

export function transitionTable(transitions: readonly CheckTransition[]): Table {
  return table('Changes of verdicts, newest first', transitions, [
    ['When (UTC)', ({ occurredAt }) => time(occurredAt)],
    ['Check', (one) => [checkHistory(one.pipeline, one.check), quiet(` ${one.pipeline}`), why(one.explanation)]],
    ['Became', became],
    ['For', (one) => lasted(one, true), 'number'],
    ['Value', (one) => measured(one, undefined), 'minor number'],
  ]);
}

function became({ from, to }: CheckTransition): Content {
  return [verdictBadge(to), note(from === null ? 'first evaluation' : `was ${words[from]}`)];
}

function lasted({ occurredAt, endedAt }: CheckTransition, isConfigured: boolean): Content {
  if (endedAt !== null) return duration((endedAt.getTime() - occurredAt.getTime()) / 1000);
  return [age(occurredAt), note(isConfigured ? 'so far' : 'no longer configured')];
}

function measured({ value: last, segment }: CheckTransition, check: CheckState | undefined): Content {
  if (check?.kind === 'density_drift') return null;
  return [
    last !== null && value(last, check === undefined ? 'score' : unitOf(check)),
    segment !== null && segment !== 'all' && note(segment),
  ];
}

const words = { ok: 'OK', warning: 'a warning', critical: 'critical', no_data: 'without data' } as const;

/** Returns a link to the measurements of a check from one hour before to one hour after the change. */
function evidence({ pipeline, occurredAt }: CheckTransition, known: CheckState | undefined): Link {
  const set = known?.goldenSet ?? null;
  const page = known?.kind === 'density_drift' ? 'density' : set === null ? 'traffic' : 'golden';
  const around = {
    from: minuteOf(new Date(occurredAt.getTime() - HOUR_MS)),
    until: minuteOf(new Date(occurredAt.getTime() + HOUR_MS)),
  };
  return {
    ...link(time(occurredAt), pipelinePath(pipeline, page), page === 'golden' ? { set, ...around } : around),
    label: `Measurements around ${minute(occurredAt)}`,
  };
}

function strips({ checks, transitions, pipelines, pipeline, isWhole, range, now }: ChecksPageData): Content {
  // Timeline strips need every change within the range.
  if (!isWhole) return null;
  const { from } = range;
  const until = range.until > now ? now : range.until;
  const shown = checks.flatMap((state) => {
    const { pipeline: own, name } = state;
    const changes = transitions.filter((one) => one.pipeline === own && one.check === name);
    const intervals = verdictIntervals(changes, state, from, until);
    return intervals.length === 0
      ? []
      : [{ label: pipeline === null && pipelines.length > 1 ? `${own}: ${name}` : name, intervals }];
  });
  return shown.length > 0 && { kind: 'strips', strips: shown, from, until };
}

/**
 * Returns the verdict intervals of one check from `from` to `until` in chronological order. The first change also
 * states the previous verdict, which applies from `from` until that change. If there are no changes, the current
 * verdict applies to the whole period. There is no interval before the first evaluation.
 *
 * @param transitions changes of the check between `from` and `until`, in any order
 * @param now current state of the check
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
    return [{ verdict: now.verdict, from: from > now.since ? from : now.since, until }];
  }
  const before = first.from === null ? [] : [{ verdict: first.from, from, until: first.occurredAt }];
  const after = ordered.map(({ to, occurredAt, endedAt }) => ({
    verdict: to,
    from: occurredAt,
    until: endedAt === null || endedAt > until ? until : endedAt,
  }));
  return [...before, ...after];
}

type ChecksPageData = Awaited<ReturnType<typeof readChecksPage>>;

const MAX_TRANSITIONS = 100;

/** @throws RecalldError pipeline_unknown */
export async function readChecksPage(context: Context, query: Query, { from, until }: TimeRange) {
  const pipeline = chosen(context, query);
  const check = query['check'] || null;
  const before = /^\d{1,18}$/.test(query['before'] ?? '') ? query['before'] : undefined;
  const [checks, incidents, found] = await Promise.all([
    readCheckStates(onReplica(context)),
    context.db.incidents.open(),
    context.db.checks.transitions({ pipeline, check, since: from, until, before, limit: MAX_TRANSITIONS + 1 }),
  ]);
  const transitions = found.slice(0, MAX_TRANSITIONS);
  const hasMore = found.length > transitions.length;
  return {
    pipeline,
    check,
    pipelines: context.pipelines.map(({ name }) => name),
    checks: checks.filter(
      (one) => (pipeline === null || one.pipeline === pipeline) && (check === null || one.name === check),
    ),
    incidents,
    /** Changes within the time range, newest first. */
    transitions,
    /** Cursor to older changes; null if there are none. */
    older: hasMore ? (transitions.at(-1)?.id ?? null) : null,
    /** True if `transitions` contains every change within the range. */
    isWhole: before === undefined && !hasMore,
    range: { from, until },
    now: context.clock.now(),
  };
}
