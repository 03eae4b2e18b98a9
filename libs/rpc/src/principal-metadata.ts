/** The gRPC metadata entry that carries the signed principal. */
export const PRINCIPAL_METADATA = 'kr-principal';
