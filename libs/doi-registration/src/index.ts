export { MIGRATIONS } from './migrations.ts';
export { type DoiRegistration, openDoiRegistration } from './open-doi-registration.ts';
export { doiStates } from './store.ts';
