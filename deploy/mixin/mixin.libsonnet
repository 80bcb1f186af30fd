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
    'golden-set.json': import '../../grafana/dashboards/golden-set.json',
    'live-traffic.json': import '../../grafana/dashboards/live-traffic.json',
    'recalld-itself.json': import '../../grafana/dashboards/recalld-itself.json',
    'retrieval-health.json': import '../../grafana/dashboards/retrieval-health.json',
  },
  prometheusAlerts+:: only('alert'),
  prometheusRules+:: only('record'),
}
