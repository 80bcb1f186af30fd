/** Where dashboards lead to. */
export interface DashboardSettings {
  /** Where docs/runbooks is served. */
  readonly runbookBaseUrl: string;
  /** Where the console of recalld answers. */
  readonly consoleUrl: string;
}

/** What dashboards assume that are not made for a config. */
export const defaultDashboardSettings: DashboardSettings = {
  runbookBaseUrl: 'https://runbooks.example.com/recalld',
  consoleUrl: 'http://localhost:8321',
};
