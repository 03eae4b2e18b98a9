/** A resumable upload into one entry; its bytes become the object of the same id. */
export interface Upload {
  id: string;
  entityId: string;
  key: string;
  /** All bytes that are to come; null while the client has not said. */
  lengthBytes: number | null;
  /** Bytes that have come and survive a power cut. */
  receivedBytes: number;
  /** The header Upload-Metadata as it came; empty when there was none. */
  metadata: string;
  /** When it is given up, unless it is finished. */
  expiresAt: Date;
  /** Whether its bytes have become the content of the entry. */
  isFinished: boolean;
}

export function isComplete({ lengthBytes, receivedBytes }: Upload): boolean {
  return receivedBytes === lengthBytes;
}
