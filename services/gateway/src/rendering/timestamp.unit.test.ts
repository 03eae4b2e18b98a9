import { describe, expect, test } from '@jest/globals';
import { ENTITY_INSTANT, isoInstant, offsetInstant, plainInstant, shortIsoInstant } from './entity-json.ts';

const ISO = '2026-11-21T06:54:43.929200Z';

describe('instants', () => {
  test('those of resources have no zone and those of packages have one', () => {
    expect(ENTITY_INSTANT.record(ISO)).toBe('2026-11-21 06:54:43.929200');
    expect(ENTITY_INSTANT.package(ISO)).toBe('2026-11-21T06:54:43.929200+00:00');
  });

  test.each([
    { seconds: '1795244083', nanos: 929_200_000, iso: '2026-11-21T06:54:43.929200Z' },
    { seconds: '1795244083', nanos: 0, iso: '2026-11-21T06:54:43.000000Z' },
    { seconds: '0', nanos: 999, iso: '1970-01-01T00:00:00.000000Z' },
    { seconds: '-1', nanos: 1_000, iso: '1969-12-31T23:59:59.000001Z' },
  ])('$seconds s and $nanos ns are $iso', ({ seconds, nanos, iso }) => {
    expect(isoInstant({ seconds, nanos })).toBe(iso);
  });

  test('a whole second may go without its fraction', () => {
    expect(offsetInstant(shortIsoInstant({ seconds: '1893456000', nanos: 0 }))).toBe(
      '2030-01-01T00:00:00+00:00',
    );
    expect(plainInstant(shortIsoInstant({ seconds: '1893456000', nanos: 1_000 }))).toBe(
      '2030-01-01 00:00:00.000001',
    );
  });
});
