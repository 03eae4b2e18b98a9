import { type FieldReport, MESSAGES } from '../report.ts';
import type { Vocabularies } from '../vocabularies.ts';
import { type Field, isObject, type JsonObject, type ValueOf } from './field.ts';

/** A member of an object, and whether it must be there. */
export interface Member {
  field: Field;
  required?: boolean;
}

export type Members = Readonly<Record<string, Member>>;

/** The schema of valid objects: required members are present. */
export type RecordValue<Of extends Members> = {
  [Name in keyof Of as Of[Name] extends { required: true } ? Name : never]: ValueOf<Of[Name]['field']>;
} & {
  [Name in keyof Of as Of[Name] extends { required: true } ? never : Name]?: ValueOf<Of[Name]['field']>;
};

interface RecordOptions {
  /** Keys that the service itself adds on output: accepted and ignored on input. */
  derived?: readonly string[];
  /** Checks the whole object after its members; may change the stored form. */
  whole?: (
    checked: JsonObject,
    path: string,
    report: FieldReport,
    sent: JsonObject,
  ) => JsonObject | undefined;
  /** Adds what is derived; gets the object with its members rendered. */
  derive?: (rendered: JsonObject, vocabularies: Vocabularies) => JsonObject;
}

/** An object with named members; the public form has their order. */
export function recordOf<const Of extends Members>(
  members: Of,
  options: RecordOptions = {},
): Field<RecordValue<Of>> {
  const { derived = [], whole, derive } = options;
  const entries: readonly (readonly [string, Member])[] = Object.entries(members);
  return {
    describes: {
      is: 'object',
      members: Object.fromEntries(entries.map(([name, { field }]) => [name, field.describes])),
      required: entries.filter(([, { required }]) => required).map(([name]) => name),
      derived,
    },
    check(value, path, report) {
      if (!isObject(value)) {
        if (value === null) report.add(path, MESSAGES.nil);
        else report.add(`${path}._schema`, MESSAGES.notObject);
        return value;
      }
      const checked: JsonObject = {};
      for (const [name, member] of entries) {
        const sent = value[name];
        if (sent === undefined) {
          if (member.required) report.add(`${path}.${name}`, MESSAGES.missing);
          continue;
        }
        const checkedMember = member.field.check(sent, `${path}.${name}`, report);
        if (checkedMember !== undefined) checked[name] = checkedMember;
      }
      for (const name of Object.keys(value)) {
        if (!Object.hasOwn(members, name) && !derived.includes(name))
          report.add(`${path}.${name}`, MESSAGES.unknown);
      }
      return whole ? whole(checked, path, report, value) : checked;
    },
    render(checked, vocabularies) {
      if (!isObject(checked)) return checked;
      const rendered: JsonObject = {};
      for (const [name, member] of entries) {
        if (Object.hasOwn(checked, name)) rendered[name] = member.field.render(checked[name], vocabularies);
      }
      return derive ? derive(rendered, vocabularies) : rendered;
    },
  };
}
