// recalld's monitoring mixin: the generated rules and dashboards under the field names of monitoring mixins.
//
//   local recalld = import 'recalld/deploy/mixin/mixin.libsonnet';
//   recalld.prometheusAlerts
local rules = import '../prometheus/recalld.rules.json';
local only(key) = {
  groups: [
    group { rules: kept }
    for group in rules.groups
    for kept in [[rule for rule in group.rules if std.objectHas(rule, key)]]
    if std.length(kept) > 0
  ],
};
{
  grafanaDashboards+:: {
    'density-and-topics.json': import '../../grafana/dashboards/density-and-topics.json',
    'agents.json': import '../../grafana/dashboards/agents.json',
    'feedback-and-experiments.json': import '../../grafana/dashboards/feedback-and-experiments.json',
    'golden-queries.json': import '../../grafana/dashboards/golden-queries.json',
    'golden-runs.json': import '../../grafana/dashboards/golden-runs.json',
    'golden-set.json': import '../../grafana/dashboards/golden-set.json',
    'judge.json': import '../../grafana/dashboards/judge.json',
    'judged-relevance.json': import '../../grafana/dashboards/judged-relevance.json',
    'live-traffic.json': import '../../grafana/dashboards/live-traffic.json',
    'recalld-itself.json': import '../../grafana/dashboards/recalld-itself.json',
    'retrieval-health.json': import '../../grafana/dashboards/retrieval-health.json',
    'store-and-index.json': import '../../grafana/dashboards/store-and-index.json',
  },
  prometheusAlerts+:: only('alert'),
  prometheusRules+:: only('record'),
}
