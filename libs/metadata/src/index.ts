export {
  type AccessStatus,
  accessStatus,
  checkAccess,
  effectiveAccess,
  OPEN_ACCESS,
  renderAccess,
  type StoredAccess,
  type Visibility,
} from './access.ts';
export {
  type DocumentedField,
  documentedFields,
  type JsonSchema,
  metadataJsonSchema,
  metadataSearchFields,
  type SearchField,
} from './describe-metadata.ts';
export { edtfBounds } from './fields/edtf-date.ts';
export { checkMetadata, type MetadataKind, renderMetadata, type StoredMetadata } from './metadata.ts';
export type { Metadata } from './metadata-schema.ts';
export { firstIssues } from './report.ts';
export {
  isVocabularyType,
  openVocabularies,
  RELEASED_VOCABULARIES,
  type Term,
  type Vocabularies,
  type VocabularyType,
  vocabularyTypes,
} from './vocabularies.ts';
