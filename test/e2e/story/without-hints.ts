/** A JSON value without the hints of its errors; `hints.e2e` tests those. */
export function withoutHints<Value>(value: Value): Value {
  if (value === undefined) return value;
  return JSON.parse(JSON.stringify(value, (name, inner) => (name === 'hint' ? undefined : inner))) as Value;
}
