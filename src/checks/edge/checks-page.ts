/** Every configured check: its status, since when, why, what is likely behind it, and when it changed. */
import { type Context, onReplica } from '../../core/context.ts';
import { duration, minute } from '../../core/format.ts';
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
  note,
  paragraph,
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
import { checkTable } from './check-table.ts';

export function checksPage(data: ChecksPageData): PageContent {
  const { checks, incidents, pipelines, pipeline, check } = data;
  const failing = checks.filter(({ verdict, isQuiet }) => verdict !== 'ok' && !isQuiet);
  const quietOnes = checks.filter(({ isQuiet }) => isQuiet);
  const passing = checks.filter(({ verdict, isQuiet }) => verdict === 'ok' && !isQuiet);
  const firing = new Set(failing.flatMap(({ verdict, pipeline: own }) => (verdict === 'no_data' ? [] : [own])));
  const shown = (caption: string, some: readonly CheckState[]) => checkTable(caption, some, pipeline === null);
  return {
    title: 'Checks',
    pipeline,
    section: 'checks',
    content: [
      pipelineChoices('/checks', pipelines, pipeline),
      check !== null && paragraph('Only ', strong(check), '. ', link('All checks', '/checks', { pipeline })),
      checks.length === 0
        ? noCheck(check)
        : [
            section(
              'failing',
              'Need somebody',
              {},
              failing.length === 0
                ? lead('None: every check holds that has something to judge.')
                : shown('Checks that do not hold', failing),
              incidents.filter((one) => firing.has(one.pipeline)).map((incident) => diagnosisPanel(incident)),
            ),
            quietOnes.length > 0 &&
              section(
                'quiet',
                'Wait for data',
                { lead: 'Too little has come to judge these, which the config takes as no alarm.' },
                shown('Checks that wait for data', quietOnes),
              ),
            passing.length > 0 && section('holding', 'Hold', {}, shown('Checks that hold', passing)),
          ],
      history(data),
    ],
  };
}

function noCheck(check: string | null): Content {
  if (check !== null) return empty(`The config has no check "${check}" now; what is kept of it stands below.`);
  return empty(
    'No check is configured, so nothing would say that retrieval got worse.',
    'Add some under `checks` of a pipeline, such as `{measure: ndcg@10, below: 0.8, severity: critical}`.',
  );
}

function history(data: ChecksPageData): Section {
  const { transitions, older, pipeline, check } = data;
  return section(
    'history',
    check === null ? 'History' : `History of ${check}`,
    {
      lead: 'Changes of verdicts in this time, newest first. The strips show how each check stood: the worse, the higher.',
    },
    strips(data),
    transitions.length === 0
      ? lead('No check changed its verdict in this time. Choose a longer one to look further back.')
      : transitionTable(transitions, data),
    older !== null &&
      styledParagraph('quiet', link('Older changes', '/checks', { pipeline, check, before: older }, 'history')),
  );
}

/** @param page what it stands beside; null: by itself */
export function transitionTable(transitions: readonly CheckTransition[], page: ChecksPageData | null): Table {
  const stateOf = (one: CheckTransition) =>
    page?.checks.find(({ pipeline, name }) => pipeline === one.pipeline && name === one.check);
  return table('Changes of verdicts, newest first', transitions, [
    ['When (UTC)', (one) => evidence(one, stateOf(one))],
    [
      'Check',
      (one) => [
        checkHistory(one.pipeline, one.check),
        (page === null || page.pipeline === null) && quiet(` ${one.pipeline}`),
        why(one.explanation),
      ],
    ],
    ['Became', ({ from, to }) => [verdictBadge(to), note(from === null ? 'first judged' : `was ${words[from]}`)]],
    [
      'For',
      (one) => {
        if (one.endedAt !== null) return duration((one.endedAt.getTime() - one.occurredAt.getTime()) / 1000);
        const isConfigured = page === null || stateOf(one) !== undefined;
        return [age(one.occurredAt), note(isConfigured ? 'so far' : 'no longer configured')];
      },
      'number',
    ],
    [
      'Value',
      ({ value: last, segment }) => [
        last !== null && value(last, 'score'),
        segment !== null && segment !== 'all' && note(segment),
      ],
      'minor number',
    ],
  ]);
}

const words = { ok: 'OK', warning: 'a warning', critical: 'critical', no_data: 'without data' } as const;

/** Leads to what a check was judged by, an hour around the change. */
function evidence({ pipeline, occurredAt }: CheckTransition, known: CheckState | undefined): Link {
  const set = known?.goldenSet ?? null;
  const page = known?.kind === 'density_drift' ? 'density' : set === null ? 'traffic' : 'golden';
  const around = {
    from: minuteOf(new Date(occurredAt.getTime() - HOUR_MS)),
    until: minuteOf(new Date(occurredAt.getTime() + HOUR_MS)),
  };
  return {
    ...link(time(occurredAt), pipelinePath(pipeline, page), page === 'golden' ? { set, ...around } : around),
    label: `What was measured around ${minute(occurredAt)}`,
  };
}

function strips({ checks, transitions, pipeline, isWhole, range, now }: ChecksPageData): Content {
  // From some of the changes no strip can be told.
  if (!isWhole) return null;
  const { from } = range;
  const until = range.until > now ? now : range.until;
  const shown = checks.flatMap((state) => {
    const { pipeline: own, name } = state;
    const changes = transitions.filter((one) => one.pipeline === own && one.check === name);
    const intervals = verdictIntervals(changes, state, from, until);
    return intervals.length === 0 ? [] : [{ label: pipeline === null ? `${own}: ${name}` : name, intervals }];
  });
  return shown.length > 0 && { kind: 'strips', strips: shown, from, until };
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

type ChecksPageData = Awaited<ReturnType<typeof readChecksPage>>;

const MAX_TRANSITIONS = 100;

/** @throws RecalldError pipeline_unknown */
export async function readChecksPage(context: Context, query: Query, { from, until }: TimeRange) {
  const pipeline = chosen(context, query);
  const check = query['check'] === undefined || query['check'] === '' ? null : query['check'];
  const before = /^\d{1,18}$/.test(query['before'] ?? '') ? query['before'] : undefined;
  const [checks, incidents, found] = await Promise.all([
    readCheckStates(onReplica(context)),
    context.db.incidents.open(),
    context.db.checks.transitions({
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
    pipelines: context.pipelines.map(({ name }) => name),
    checks: checks.filter(
      (one) => (pipeline === null || one.pipeline === pipeline) && (check === null || one.name === check),
    ),
    /** Those that are open. */
    incidents,
    /** Changes within the range, newest first. */
    transitions,
    /** Id behind which older ones are; null when there are none. */
    older: hasMore ? (transitions.at(-1)?.id ?? null) : null,
    /** Whether these are all changes within the range. */
    isWhole: before === undefined && !hasMore,
    range: { from, until },
    now: context.clock.now(),
  };
}
