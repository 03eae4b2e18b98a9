import { isVocabularyType, type VocabularyType } from '@kr/metadata';
import { ServiceError } from '@kr/service-error';
import { type Call, param } from '../http/endpoint.ts';

/** @throws ServiceError `not_found`: there is no such vocabulary */
export function vocabularyOf(call: Call): VocabularyType {
  const name = param(call, 'type');
  if (!isVocabularyType(name)) throw new ServiceError('not_found', 'Not found.');
  return name;
}
