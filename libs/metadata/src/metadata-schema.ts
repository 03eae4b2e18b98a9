import { edtfDate } from './fields/edtf-date.ts';
import { funding } from './fields/funding.ts';
import { identifiers, identifierWith, REFERENCE_SCHEMES, WORK_SCHEMES } from './fields/identifier.ts';
import { list } from './fields/list.ts';
import { locations } from './fields/location.ts';
import { contributor, creator } from './fields/person-or-org.ts';
import { type Members, type RecordValue, recordOf } from './fields/record-of.ts';
import { rights } from './fields/rights.ts';
import { subject } from './fields/subject.ts';
import { html, nonBlank, text } from './fields/text.ts';
import { vocabularyTerm } from './fields/vocabulary-term.ts';

const language = vocabularyTerm('languages');

const additionalTitle = recordOf({
  title: { field: text({ minLength: 3 }), required: true },
  type: { field: vocabularyTerm('titletypes'), required: true },
  lang: { field: language },
});

const additionalDescription = recordOf({
  description: { field: html({ minLength: 3 }), required: true },
  type: { field: vocabularyTerm('descriptiontypes'), required: true },
  lang: { field: language },
});

const date = recordOf({
  date: { field: edtfDate(), required: true },
  type: { field: vocabularyTerm('datetypes'), required: true },
  description: { field: text() },
});

const relatedIdentifier = identifierWith(WORK_SCHEMES, {
  relation_type: { field: vocabularyTerm('relationtypes'), required: true },
  resource_type: { field: vocabularyTerm('resourcetypes') },
  title: { field: text() },
  description: { field: html() },
});

const reference = identifierWith(
  REFERENCE_SCHEMES,
  { reference: { field: text({ minLength: 1 }), required: true } },
  { required: false },
);

/**
 * Every metadata field, in the order in which it is shown and its problems are listed. Resources and packages share
 * it, but for `resource_type`: a package always is `knowledge`.
 */
export const METADATA_FIELDS = {
  resource_type: { field: vocabularyTerm('resourcetypes'), required: true },
  creators: { field: list(creator, { required: true }), required: true },
  title: { field: text({ minLength: 3 }), required: true },
  additional_titles: { field: list(additionalTitle) },
  publisher: { field: text() },
  publication_date: { field: edtfDate(), required: true },
  subjects: { field: list(subject) },
  contributors: { field: list(contributor) },
  dates: { field: list(date) },
  languages: { field: list(language) },
  identifiers: { field: identifiers(WORK_SCHEMES) },
  related_identifiers: { field: list(relatedIdentifier) },
  sizes: { field: list(nonBlank('Size cannot be a blank string.')) },
  formats: { field: list(nonBlank('Format cannot be a blank string.')) },
  version: { field: text({ search: 'keyword' }) },
  rights: { field: list(rights) },
  description: { field: html({ minLength: 3 }) },
  additional_descriptions: { field: list(additionalDescription) },
  locations: { field: locations },
  funding: { field: list(funding) },
  references: { field: list(reference) },
  target_audiences: { field: list(vocabularyTerm('targetaudiencestypes')) },
  geo_work_programme_activity: { field: vocabularyTerm('geowptypes') },
  engagement_priorities: { field: list(vocabularyTerm('engagementprioritiestypes')) },
} as const satisfies Members;

/** Metadata without problems, as a client may send it. */
export type Metadata = RecordValue<typeof METADATA_FIELDS>;
