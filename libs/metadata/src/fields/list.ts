import { MESSAGES } from '../report.ts';
import type { Field } from './field.ts';

/** An array of one kind of item. `required`: an empty one counts as missing. */
export function list<Item>(
  item: Field<Item>,
  { required = false }: { required?: boolean } = {},
): Field<Item[]> {
  return {
    describes: { is: 'list', item: item.describes, minItems: required ? 1 : 0 },
    check(value, path, report) {
      if (value === null) {
        report.add(path, MESSAGES.nil);
        return value;
      }
      if (!Array.isArray(value)) {
        report.add(path, MESSAGES.notList);
        return value;
      }
      if (required && value.length === 0) report.add(path, MESSAGES.missing);
      return value
        .map((entry, index) => item.check(entry, `${path}.${index}`, report))
        .filter((checked) => checked !== undefined);
    },
    render: (checked, vocabularies) =>
      Array.isArray(checked) ? checked.map((entry) => item.render(entry, vocabularies)) : checked,
  };
}
