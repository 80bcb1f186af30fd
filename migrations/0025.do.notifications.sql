-- Which messages about incidents were due to whom, and did they arrive?
create table notifications (
  id bigint generated always as identity primary key,
  incident_id bigint not null references incidents on delete cascade,
  -- Hash of where it goes, so that no address is kept here.
  receiver text not null,
  event text not null check (event in ('opened', 'updated', 'closed')),
  -- The cause that it told; null when none was known.
  cause text,
  due_at timestamptz not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  sent_at timestamptz,
  given_up_at timestamptz
);

-- However many replicas look, one message opens and one closes.
create unique index notifications_once on notifications (incident_id, receiver, event) where event <> 'updated';
create index notifications_incident on notifications (incident_id, receiver, id);
create index notifications_due on notifications (next_attempt_at) where sent_at is null and given_up_at is null;
