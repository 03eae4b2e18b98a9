/** The gRPC metadata entries that tell which process calls, and, signed by it, on whose behalf. */
export const CALLER_METADATA = 'kr-caller';
export const PRINCIPAL_METADATA = 'kr-principal';
