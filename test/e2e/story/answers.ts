/** Bodies of the public interface, as far as the stories read them. */
export interface Entity {
  id: string;
  created: string;
  updated: string;
  links: Record<string, string>;
  revision_id: number;
  parent: { id: string; access?: { owned_by: { user: string }[]; links: { id: string }[] }; type?: string };
  versions: { index: number; is_latest: boolean; is_latest_draft?: boolean };
  is_published: boolean;
  is_draft: boolean;
  expires_at?: string;
  pids: Record<string, { identifier: string; provider: string }>;
  metadata: Record<string, unknown>;
  access: { record: string; files: string; status: string };
  files: { enabled: boolean; default_preview?: string | null; order?: string[] };
  status: string;
  relationship: { resources?: { id: string }[]; packages?: { id: string }[] };
  errors?: Issue[];
}

export interface Issue {
  field: string;
  messages: string[];
  record?: string;
}

export interface Failed {
  status: number;
  message: string;
  code?: string;
  errors?: Issue[];
}

export interface FileEntry {
  key: string;
  created: string;
  updated: string;
  status: string;
  checksum?: string;
  size?: number;
  mimetype?: string;
  links: Record<string, string>;
}

export interface FilesListing {
  enabled: boolean;
  default_preview: string | null;
  order: string[];
  entries: FileEntry[];
  links: Record<string, string>;
}

export interface Listing<Hit = Entity> {
  hits: { hits: Hit[]; total: number };
  aggregations: Record<string, unknown>;
  links: Record<string, string>;
  sortBy: string;
}

export interface AccessLink {
  id: string;
  created_at: string;
  expires_at: string | null;
  permission: string;
  token: string;
}
