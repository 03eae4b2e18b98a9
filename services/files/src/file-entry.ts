/** One file of an entity, pending or completed. */
export interface FileEntry {
  entityId: string;
  key: string;
  createdAt: Date;
  updatedAt: Date;
  isCompleted: boolean;
  /** JSON text of an object; null where nothing is known. */
  metadata: string | null;
  /** Null until bytes have arrived; a pending entry may have some. */
  content: FileContent | null;
  bucketId: string;
}

/** The stored bytes an entry refers to. Other entries may refer to the same object. */
export interface FileContent {
  objectId: string;
  versionId: string;
  sizeBytes: number;
  /** 32 hexadecimal digits. */
  md5: string;
  /** 64 hexadecimal digits; null where it was not computed when the bytes came. */
  sha256: string | null;
  mimetype: string;
  /** When the bytes were stored. */
  storedAt: Date;
  /** Pixels; null where the bytes are no image that was understood. */
  dimensions: Dimensions | null;
}

export interface Dimensions {
  width: number;
  height: number;
}

/** What the public file entry calls its storage class. */
export const STORAGE_CLASS = 'S';
