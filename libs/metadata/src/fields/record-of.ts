import { MESSAGES, type Report } from '../report.ts';
import { type Field, isObject, type JsonObject } from './field.ts';

/** A member of an object, and whether it must be there. */
export interface Member {
  field: Field;
  required?: boolean;
}

interface RecordOptions {
  /** Keys that the service itself adds on output: accepted and ignored on input. */
  derived?: readonly string[];
  /** Looks at the whole once its members were checked; may change what is kept. */
  whole?: (kept: JsonObject, path: string, report: Report, sent: JsonObject) => JsonObject | undefined;
  /** Adds what is derived; gets the object with its members rendered. */
  derive?: (rendered: JsonObject) => JsonObject;
}

/** An object with named members, shown in the order given here. */
export function recordOf(members: Record<string, Member>, options: RecordOptions = {}): Field {
  const { derived = [], whole, derive } = options;
  return {
    check(value, path, report) {
      if (!isObject(value)) {
        if (value === null) report.add(path, MESSAGES.nil);
        else report.add(`${path}._schema`, MESSAGES.notObject);
        return value;
      }
      const kept: JsonObject = {};
      for (const [name, member] of Object.entries(members)) {
        const sent = value[name];
        if (sent === undefined) {
          if (member.required) report.add(`${path}.${name}`, MESSAGES.missing);
          continue;
        }
        const keptMember = member.field.check(sent, `${path}.${name}`, report);
        if (keptMember !== undefined) kept[name] = keptMember;
      }
      for (const name of Object.keys(value)) {
        if (!(name in members) && !derived.includes(name)) report.add(`${path}.${name}`, MESSAGES.unknown);
      }
      return whole ? whole(kept, path, report, value) : kept;
    },
    render(kept) {
      if (!isObject(kept)) return kept;
      const rendered: JsonObject = {};
      for (const [name, member] of Object.entries(members)) {
        if (name in kept) rendered[name] = member.field.render(kept[name]);
      }
      return derive ? derive(rendered) : rendered;
    },
  };
}
