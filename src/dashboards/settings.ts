/** Where dashboards lead to, and what they keep apart. */
export interface DashboardSettings {
  /** Where docs/runbooks is served; null: by the console, where that is known. */
  readonly runbookBaseUrl: string | null;
  /** Where the console of recalld answers; null: dashboards do not link to it. */
  readonly consoleUrl: string | null;
  /** Labels of the targets by which one deployment differs from another: one of each is looked at at a time. */
  readonly groupLabels: readonly string[];
}

/** What dashboards assume that are not made for a config. */
export const defaultDashboardSettings: DashboardSettings = {
  runbookBaseUrl: null,
  consoleUrl: null,
  groupLabels: ['job'],
};

/** The page of an alert, whose name stands in the place of `alert`; null where nothing serves runbooks. */
export function runbookUrl({ runbookBaseUrl, consoleUrl }: DashboardSettings, alert: string): string | null {
  if (runbookBaseUrl !== null) return `${withoutSlash(runbookBaseUrl)}/${alert}.md`;
  return consoleUrl === null ? null : `${withoutSlash(consoleUrl)}/runbooks/${alert}`;
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
