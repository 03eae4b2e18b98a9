export { type AccessSubject, allows, authorise, type SubjectOf } from './authorise.ts';
export {
  type Action,
  type EntityAction,
  type GeneralAction,
  isAction,
  POLICY,
  type Role,
  SCOPE_OF,
} from './policy.ts';
