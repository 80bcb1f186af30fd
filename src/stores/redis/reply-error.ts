/** What Redis says no with -> what to do. */
import { failed, type Refused, unsupported } from '../outcome.ts';

interface CommandPlace {
  /** Scheme, host and port. */
  readonly label: string;
  readonly purpose: string;
  readonly configField: string;
  readonly command: string;
  readonly needs: string;
}

/** The text of the reply is never shown, since it may repeat an argument. */
export function refusalOfReply(
  reply: string,
  { label, purpose, configField, command, needs }: CommandPlace,
): Refused {
  const start = `Redis ${purpose} failed: ${label}`;
  if (/unknown command/i.test(reply)) {
    return unsupported(`A ${purpose} needs ${needs}, and ${label} does not know ${command}.`);
  }
  if (/^(NOAUTH|WRONGPASS)|invalid password|without any password|DENIED/i.test(reply)) {
    return failed('auth_failed', `${start} refuses the user or the password; check ${configField}.url.`);
  }
  if (reply.startsWith('NOPERM')) {
    return failed('no_permission', `${start} does not let this user run ${command}; allow it, or +@read.`);
  }
  if (/unknown index|no such index|index not found/i.test(reply)) {
    return failed('collection_missing', `${start} has no such index; check ${configField}.index.`);
  }
  if (/^WRONGTYPE|wrong (type|kind) of value/i.test(reply)) {
    return failed('wrong_type', `${start} holds another type of value there; check ${configField}.`);
  }
  if (/^(MOVED|ASK|CLUSTERDOWN|CROSSSLOT)/.test(reply)) {
    return failed(
      'cluster',
      `${start} is a node of a cluster without this key; give the address of its node.`,
    );
  }
  if (/^(LOADING|BUSY|TRYAGAIN|OOM|MASTERDOWN)/.test(reply)) {
    return failed('busy', `${start} is busy or loading its data; try again later.`);
  }
  return failed(
    'request_refused',
    `${start} refused ${command}; check ${configField} and the fields of filters.`,
  );
}
