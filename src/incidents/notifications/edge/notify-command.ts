/** `recalld notify`: sends a test message to every receiver. */
import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandSettings } from '../../../app/commands/command-store.ts';
import { exitCodeOfKind } from '../../../cli/exit.ts';
import { printJson, printLine, withConfig } from '../../../cli/output.ts';
import type { Receiver } from '../../../connectors/receivers/receiver.ts';
import { createReceivers } from '../../../connectors/receivers/registry.ts';
import type { Message } from '../../../core/notification.ts';
import { systemClock } from '../../../core/system-clock.ts';

export function notifyCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(command, 'recalld notify --config recalld.yaml').action(async ({ config, json }) => {
    const settings = commandSettings(config, signal);
    const receivers = createReceivers(settings.config.notify);
    const link = settings.config.alerts.console_base_url;
    const tried = await Promise.all(receivers.map((receiver) => tryOut(receiver, link, signal)));
    for (const receiver of receivers) receiver.close();
    if (json === true) printJson(tried);
    else if (tried.length === 0) printLine('No receivers are configured under `notify`.');
    else for (const one of tried) printLine(`${one.receiver}: ${one.problem ?? `test message sent to ${one.kind}.`}`);
    if (tried.some(({ problem }) => problem !== null)) process.exitCode = exitCodeOfKind.unreachable;
  });
}

async function tryOut(receiver: Receiver, link: string | null, signal: AbortSignal) {
  const openedAt = systemClock.now();
  const opened: Message = {
    event: 'opened',
    id: `recalld/test/${openedAt.toISOString()}/opened`,
    key: `recalld/test/${openedAt.toISOString()}`,
    pipeline: 'test',
    severity: 'warning',
    openedAt,
    closedAt: null,
    closedBecause: null,
    summary: 'test: a message from `recalld notify`; nothing is wrong',
    lines: [],
    diagnosis: 'No action is needed.',
    link,
    runbook: null,
    chartLink: null,
    chartPng: null,
  };
  const problem =
    (await receiver.send(opened, signal)) ??
    (await receiver.send(
      { ...opened, event: 'closed', id: `${opened.key}/closed`, closedAt: systemClock.now() },
      signal,
    ));
  /** `problem`: reason why one of the two test messages failed; null if both arrived. */
  return { receiver: receiver.field, kind: receiver.kind, problem };
}
