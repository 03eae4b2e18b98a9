/** The gRPC metadata entries that name the calling process and, signed by it, the principal. */
export const CALLER_METADATA = 'kr-caller';
export const PRINCIPAL_METADATA = 'kr-principal';
