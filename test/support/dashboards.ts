/** Reads the generated dashboards for tests: panels, their queries, and variables with values. */

import { defaultRuleSettings } from '../../src/app/alerts/rule-file.ts';
import { createDashboards } from '../../src/app/dashboards/catalogue.ts';
import type { DashboardSettings } from '../../src/platform/dashboards/promql.ts';

export interface Target {
  readonly refId: string;
  readonly datasource: { readonly type: string; readonly uid: string };
  readonly expr?: string;
  readonly rawSql?: string;
}

export interface PlacedPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
  readonly repeat?: string;
  /** True for a collapsed row; its panels are in `panels`. */
  readonly collapsed?: boolean;
  readonly panels?: readonly PlacedPanel[];
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string; readonly noValue?: string } };
}

export interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query?: string;
  readonly refresh?: number;
  readonly multi?: boolean;
  readonly allValue?: string;
  readonly datasource?: { readonly uid: string };
}

export interface ReadDashboard {
  readonly name: string;
  readonly uid: string;
  readonly title: string;
  readonly editable: boolean;
  readonly links: readonly { readonly title: string; readonly url?: string }[];
  readonly panels: readonly PlacedPanel[];
  readonly variables: readonly Variable[];
  readonly annotations: readonly { readonly name: string; readonly target?: Target }[];
}

interface Json {
  readonly uid: string;
  readonly title: string;
  readonly editable: boolean;
  readonly links: ReadDashboard['links'];
  readonly panels: readonly PlacedPanel[];
  readonly templating: { readonly list: readonly Variable[] };
  readonly annotations?: { readonly list: ReadDashboard['annotations'] };
}

/** Every dashboard as written to its file, with the panels of collapsed rows after their row. */
export function readDashboards(settings: Partial<DashboardSettings> = {}): readonly ReadDashboard[] {
  return createDashboards({ ...defaultRuleSettings, ...settings }).map(({ name, dashboard }) => {
    const { templating, annotations, panels, ...rest } = JSON.parse(JSON.stringify(dashboard)) as Json;
    return {
      ...rest,
      panels: panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]),
      name,
      variables: templating.list,
      annotations: annotations?.list ?? [],
    };
  });
}

export interface Asked {
  /** Titles of the dashboard and the panel, for use in messages. */
  readonly where: string;
  readonly text: string;
}

/** All PromQL expressions, each with the panel that uses it. */
export function expressions(dashboard: ReadDashboard): readonly Asked[] {
  return asked(dashboard, ({ expr }) => expr);
}

/** All SQL statements, each with the panel or the annotation that uses it. */
export function statements(dashboard: ReadDashboard): readonly Asked[] {
  const noted = dashboard.annotations.flatMap(({ name, target }) =>
    target?.rawSql === undefined ? [] : [{ where: `${dashboard.name}: ${name}`, text: target.rawSql }],
  );
  return [...asked(dashboard, ({ rawSql }) => rawSql), ...noted];
}

function asked(dashboard: ReadDashboard, textOf: (target: Target) => string | undefined): Asked[] {
  return dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.flatMap((target) => {
      const text = textOf(target);
      return text === undefined ? [] : [{ where: `${dashboard.name}: ${title} (${target.refId})`, text }];
    }),
  );
}

/** Replaces variables and Grafana macros in PromQL as Grafana does. */
export function fillIn(expression: string, values: Readonly<Record<string, string>>): string {
  return Object.entries({ __rate_interval: '1m', __range: '5m', ...values }).reduce(
    (text, [name, value]) => text.replaceAll(`$${name}`, value),
    expression,
  );
}

/** Replaces variables and Grafana macros in SQL, for the time from `from` to `to`. */
export function fillInSql(
  statement: string,
  values: Readonly<Record<string, string>>,
  { from, to }: { readonly from: Date; readonly to: Date },
): string {
  const timed = statement.replaceAll(
    /\$__timeFilter\(([\w.]+)\)/g,
    `$1 between '${from.toISOString()}' and '${to.toISOString()}'`,
  );
  return Object.entries(values).reduce(
    (text, [name, value]) =>
      text.replaceAll(`\${${name}:sqlstring}`, `'${value.replaceAll("'", "''")}'`).replaceAll(`\${${name}}`, value),
    timed,
  );
}
