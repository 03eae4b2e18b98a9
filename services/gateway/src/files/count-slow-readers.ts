import { counter } from '@kr/telemetry';

/** Counts the downloads that were ended because too little of them was read. */
export function countSlowReaders(): () => void {
  return counter(
    '@kr/gateway',
    {
      name: 'http_server_slow_readers',
      description: 'Downloads that were ended because their reader took too little.',
    },
    [{}],
  );
}
