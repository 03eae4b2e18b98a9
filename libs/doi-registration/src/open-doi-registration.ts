import { type DataciteAccount, dataciteClient } from './datacite.ts';
import { doiHandlers } from './operations.ts';
import { type DoiRegistrationOptions, startDoiRegistration } from './register-dois.ts';

/** Account for the registration, and how it goes on. */
export interface DoiRegistration
  extends DataciteAccount,
    Pick<DoiRegistrationOptions, 'baseUrl' | 'intervalMs' | 'retryMs'> {}

export interface OpenOptions extends Omit<DoiRegistrationOptions, 'datacite' | keyof DoiRegistration> {
  /** Undefined: nothing is registered. DOIs that are published meanwhile are registered once there is an account. */
  registration: DoiRegistration | undefined;
}

/** The RPCs about a service's DOIs, and their registration, which goes on until it is stopped. */
export function openDoiRegistration({ registration, ...rest }: OpenOptions): {
  handlers: ReturnType<typeof doiHandlers>;
  stop(): Promise<void>;
} {
  const options = registration && {
    ...rest,
    ...registration,
    datacite: dataciteClient(registration),
  };
  const running = options && startDoiRegistration(options);
  return {
    handlers: doiHandlers(rest.database, options),
    stop: async () => running?.stop(),
  };
}
