-- How many ticks of each schedule ever came to no run? The ticks themselves are forgotten after 30 days, a counter is not.
create table golden_skip_totals (
  pipeline text not null,
  golden_set text not null,
  purpose text not null check (purpose in ('full', 'sentinel')),
  reason text not null check (reason in ('quiet_hours', 'daily_budget', 'still_running', 'missed', 'no_full_run')),
  total bigint not null,
  primary key (pipeline, golden_set, purpose, reason)
);

insert into golden_skip_totals (pipeline, golden_set, purpose, reason, total)
select pipeline, golden_set, purpose, reason, count(*) from golden_skips group by pipeline, golden_set, purpose, reason;
