import type { ClientRequest, IncomingMessage } from 'node:http';

/** After how many milliseconds of silence the kernel asks whether the other machine is still there. */
const PROBE_AFTER_MS = 10_000;

/**
 * Breaks a request off, and its answer if that has begun, when nothing passes for `idleMs` milliseconds while it is the
 * other side that has something to do: to connect, to take what was sent, to answer, to send on. Whoever sends this side the
 * bytes, or reads them here, may take his time.
 */
export function breakOffWhenSilent(
  outgoing: ClientRequest,
  { idleMs, error }: { idleMs: number; error: () => Error },
): void {
  let incoming: IncomingMessage | undefined;
  outgoing.once('response', (answer) => {
    incoming = answer;
  });
  const isTheirTurn = () =>
    incoming === undefined
      ? outgoing.writableEnded || outgoing.writableNeedDrain
      : !incoming.complete && incoming.readableLength === 0;

  outgoing.once('socket', (socket) => {
    const onTimeout = () => {
      if (socket.connecting || isTheirTurn()) (incoming ?? outgoing).destroy(error());
      else socket.setTimeout(idleMs);
    };
    socket.setKeepAlive(true, PROBE_AFTER_MS).setTimeout(idleMs).on('timeout', onTimeout);
    outgoing.once('close', () => socket.off('timeout', onTimeout).setTimeout(0));
  });
}
