import { describe, expect, it } from 'vitest';
import type { NotificationEvent } from '../../../../../src/core/notification.ts';
import { dueMessage, type Notified, nextAttempt } from '../../../../../src/incidents/notifications/rules/message.ts';
import { anIncident } from '../../../../support/builders.ts';
import { hours } from '../../../../support/measurements.ts';

const webhook = { minSeverity: 'critical', takesUpdates: false } as const;
const pagerduty = { ...webhook, takesUpdates: true };

const sent = (event: NotificationEvent, cause: Notified['cause'] = 'retriever_outage'): Notified => ({
  event,
  cause,
  sentAt: hours(0),
  givenUpAt: null,
});
const open = anIncident();
const closed = anIncident({ closedAt: hours(1) });

describe('the notification that is due', () => {
  it('opens an incident once, and closes it once', () => {
    expect(dueMessage(open, [], webhook, hours(0))).toBe('opened');
    expect(dueMessage(open, [sent('opened')], webhook, hours(0.5))).toBeNull();
    expect(dueMessage(closed, [sent('opened')], webhook, hours(1))).toBe('closed');
    expect(dueMessage(closed, [sent('opened'), sent('closed')], webhook, hours(1))).toBeNull();
  });

  it('is none while the incident is below the minimum severity of the receiver', () => {
    const warning = anIncident({ severity: 'warning' });
    expect(dueMessage(warning, [], webhook, hours(0))).toBeNull();
    expect(dueMessage(warning, [], { ...webhook, minSeverity: 'warning' }, hours(0))).toBe('opened');
    expect(dueMessage({ ...warning, severity: 'critical' }, [], webhook, hours(2))).toBe('opened');
  });

  it('is only the closing one if the incident closed moments ago without a notification, and none if it closed long ago', () => {
    expect(dueMessage(closed, [], webhook, new Date(hours(1).getTime() + 60_000))).toBe('closed');
    expect(dueMessage(closed, [], webhook, hours(2))).toBeNull();
  });

  it('is none for a closed incident whose opening notification was given up', () => {
    const lost = { ...sent('opened'), sentAt: null, givenUpAt: hours(1) };
    expect(dueMessage(closed, [lost], webhook, hours(2))).toBeNull();
  });

  it('is withheld during a silence of the pipeline, and sent afterwards if the incident is still open', () => {
    const silence = {
      id: '1',
      pipeline: open.pipeline,
      startsAt: hours(-1),
      endsAt: hours(2),
      reason: 'index rebuild',
      createdAt: hours(-1),
      createdBy: 'ann',
    };
    expect(dueMessage(open, [], webhook, hours(1), [silence])).toBeNull();
    expect(dueMessage(open, [], webhook, hours(2), [silence])).toBe('opened');
    expect(dueMessage(open, [], webhook, hours(1), [{ ...silence, pipeline: 'another' }])).toBe('opened');
    const changed = anIncident({ cause: 'index_lost_documents' });
    expect(dueMessage(changed, [sent('opened')], webhook, hours(1), [silence])).toBeNull();
    const soon = new Date(hours(1).getTime() + 60_000);
    expect(dueMessage(closed, [], webhook, soon, [silence])).toBeNull();
    expect(dueMessage(closed, [sent('opened')], webhook, soon, [silence])).toBe('closed');
  });

  it('waits up to 15 seconds for the cause, and is then sent without a cause', () => {
    const undiagnosed = anIncident({ confirmedAt: null });
    const after = (seconds: number) => new Date(undiagnosed.openedAt.getTime() + seconds * 1000);
    expect(dueMessage(undiagnosed, [], webhook, after(14))).toBeNull();
    expect(dueMessage(undiagnosed, [], webhook, after(15))).toBe('opened');
    expect(dueMessage(anIncident({ confirmedAt: after(10) }), [], webhook, after(10))).toBe('opened');
  });

  it('is one follow-up when a cause becomes known or changes', () => {
    const changed = anIncident({ cause: 'index_lost_documents' });
    for (const receiver of [webhook, pagerduty]) {
      expect(dueMessage(changed, [sent('opened')], receiver, hours(1))).toBe('updated');
      expect(dueMessage(changed, [sent('opened', null)], receiver, hours(1))).toBe('updated');
      expect(dueMessage({ ...changed, confirmedAt: null }, [sent('opened', null)], receiver, hours(1))).toBeNull();
      const known = [sent('opened'), sent('updated', 'index_lost_documents')];
      expect(dueMessage(changed, known, receiver, hours(1))).toBeNull();
      expect(dueMessage(changed, [{ ...sent('opened'), sentAt: null }], receiver, hours(1))).toBeNull();
      expect(dueMessage({ ...changed, closedAt: hours(1) }, [sent('opened')], receiver, hours(1))).toBe('closed');
    }
  });

  it('is no follow-up for a guess, unless the receiver accepts updates', () => {
    const guessed = anIncident({ cause: 'index_lost_documents', confidence: 'low' });
    expect(dueMessage(guessed, [sent('opened')], webhook, hours(1))).toBeNull();
    expect(dueMessage(guessed, [sent('opened')], pagerduty, hours(1))).toBe('updated');
    const unknown = anIncident({ cause: 'unknown', confidence: 'low' });
    expect(dueMessage(unknown, [sent('opened', null)], webhook, hours(1))).toBeNull();
    expect(dueMessage(unknown, [sent('opened', null)], pagerduty, hours(1))).toBeNull();
  });
});

describe('a message that the receiver does not accept', () => {
  it('is retried for an hour, at growing intervals', () => {
    const waits: number[] = [];
    let now = hours(0);
    for (let attempt = 1; ; attempt += 1) {
      const next = nextAttempt(hours(0), attempt, now);
      if (next === null) break;
      waits.push((next.getTime() - now.getTime()) / 1000);
      now = next;
    }
    expect(waits.slice(0, 6)).toEqual([10, 20, 40, 80, 160, 300]);
    expect(waits.at(-1)).toBe(300);
    expect(now >= hours(1) && now < hours(1.1)).toBe(true);
  });
});
