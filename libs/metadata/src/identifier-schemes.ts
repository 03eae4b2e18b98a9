/** The rules of one identifier scheme. */
interface Scheme {
  /** As named in messages: `Invalid ORCID identifier.` */
  label: string;
  /** The canonical form, or `undefined` if the value is not of this scheme. */
  normalise(value: string): string | undefined;
}

function byPattern(
  label: string,
  pattern: RegExp,
  canonical = (match: RegExpExecArray) => match[1] ?? match[0],
): Scheme {
  return {
    label,
    normalise(value) {
      const match = pattern.exec(value);
      return match ? canonical(match) : undefined;
    },
  };
}

function unchecked(label: string): Scheme {
  return { label, normalise: (value) => value };
}

function checked(scheme: Scheme, isValid: (normalised: string) => boolean): Scheme {
  return {
    label: scheme.label,
    normalise(value) {
      const normalised = scheme.normalise(value);
      return normalised !== undefined && isValid(normalised) ? normalised : undefined;
    },
  };
}

const digitsOf = (value: string): string => value.replace(/[\s-]/g, '').toUpperCase();

/** ISO 7064 MOD 11-2 over 15 digits and a check character: ORCID and ISNI. */
function hasMod11Check(value: string): boolean {
  const digits = digitsOf(value);
  let total = 0;
  for (const digit of digits.slice(0, -1)) total = (total + Number(digit)) * 2;
  const check = (12 - (total % 11)) % 11;
  return digits.at(-1) === (check === 10 ? 'X' : String(check));
}

/** The blocks of ISNI numbers that are reserved for ORCID (support.orcid.org, structure of the identifier). */
const ORCID_BLOCKS = [
  ['000000015000000', '000000035000000'],
  ['000900000000000', '000900100000000'],
] as const;

function isOrcidBlock(value: string): boolean {
  const number = digitsOf(value).slice(0, 15);
  return ORCID_BLOCKS.some(([first, last]) => number >= first && number <= last);
}

function hasIsbnCheck(value: string): boolean {
  const digits = digitsOf(value);
  const weigh = (weight: (index: number) => number) =>
    [...digits].reduce((sum, digit, index) => sum + (digit === 'X' ? 10 : Number(digit)) * weight(index), 0);
  if (/^\d{9}[\dX]$/.test(digits)) return weigh((index) => 10 - index) % 11 === 0;
  return hasEan13Check(digits) && /^97[89]/.test(digits);
}

function hasEan13Check(value: string): boolean {
  const digits = digitsOf(value);
  if (!/^\d{13}$/.test(digits)) return false;
  return (
    [...digits].reduce((sum, digit, index) => sum + Number(digit) * (index % 2 === 0 ? 1 : 3), 0) % 10 === 0
  );
}

function hasIssnCheck(value: string): boolean {
  const digits = digitsOf(value);
  const sum = [...digits].reduce(
    (total, digit, index) => total + (digit === 'X' ? 10 : Number(digit)) * (8 - index),
    0,
  );
  return sum % 11 === 0;
}

const grouped = (match: RegExpExecArray): string => (digitsOf(match[1] ?? '').match(/.{4}/g) ?? []).join('-');
const issn = (label: string): Scheme =>
  checked(
    byPattern(label, /^(?:e?issn[:\s]*)?(\d{4}-?\d{3}[\dxX])$/i, (match) =>
      digitsOf(match[1] ?? '').replace(/^(.{4})/, '$1-'),
    ),
    hasIssnCheck,
  );

/** All schemes, in the order in which a missing one is guessed. */
export const SCHEMES = {
  doi: byPattern('DOI', /^(?:https?:\/\/(?:dx\.)?doi\.org\/|doi:\s*)?(10\.\d{4,9}(?:\.\d+)*\/\S+)$/i),
  orcid: checked(
    byPattern(
      'ORCID',
      /^(?:https?:\/\/orcid\.org\/|orcid:\s*)?(\d{4}-?\d{4}-?\d{4}-?\d{3}[\dxX])$/i,
      grouped,
    ),
    (value) => hasMod11Check(value) && isOrcidBlock(value),
  ),
  isni: checked(
    byPattern(
      'ISNI',
      /^(?:https?:\/\/(?:www\.)?isni\.org\/(?:isni\/)?|isni:\s*)?(\d{4}[-\s]?\d{4}[-\s]?\d{4}[-\s]?\d{3}[\dxX])$/i,
      (match) => digitsOf(match[1] ?? ''),
    ),
    hasMod11Check,
  ),
  ror: byPattern('ROR', /^(?:https?:\/\/)?(?:ror\.org\/)?(0[a-hj-km-np-tv-z0-9]{6}\d{2})$/i, (match) =>
    (match[1] ?? '').toLowerCase(),
  ),
  gnd: byPattern(
    'GND',
    /^(?:https?:\/\/d-nb\.info\/gnd\/|gnd:\s*)?(\d{8,10}-[\dxX]|1[01]?\d{7}[\dxX]|[47]\d{6}-\d)$/i,
  ),
  arxiv: byPattern(
    'arXiv',
    /^(?:https?:\/\/arxiv\.org\/(?:abs|pdf)\/)?(?:arxiv:)?(\d{4}\.\d{4,5}(?:v\d+)?|[a-z-]+(?:\.[A-Z]{2})?\/\d{7}(?:v\d+)?)$/i,
    (match) => `arXiv:${match[1]}`,
  ),
  ark: byPattern('ARK', /^(?:https?:\/\/[^/]+\/)?(ark:\/?[0-9bcdfghjkmnpqrstvwxz]+\/.+)$/),
  bibcode: byPattern(
    'Bibcode',
    /^(?:https?:\/\/(?:ui\.)?adsabs\.harvard\.edu\/(?:abs|#abs)\/)?(\d{4}[A-Za-z]\S{13}[A-Z.:])$/,
  ),
  pmid: byPattern('PMID', /^(?:https?:\/\/pubmed\.ncbi\.nlm\.nih\.gov\/|pmid:\s*)(\d+)\/?$/i),
  isbn: checked(
    byPattern('ISBN', /^(?:isbn[:\s]*)?([\d-\s]{9,16}[\dxX])$/i, (match) => (match[1] ?? '').trim()),
    hasIsbnCheck,
  ),
  issn: issn('ISSN'),
  eissn: issn('EISSN'),
  lissn: issn('LISSN'),
  ean13: checked(
    byPattern('EAN13', /^([\d-]{13,17})$/, (match) => digitsOf(match[1] ?? '')),
    hasEan13Check,
  ),
  istc: byPattern('ISTC', /^(?:istc[:\s]*)?([0-9A-F]{3}[-\s]?\d{4}[-\s]?[0-9A-F]{8}[-\s]?[0-9A-F])$/i),
  lsid: byPattern('LSID', /^(urn:lsid:[^:\s]+:[^:\s]+:[^:\s]+(?::[^:\s]+)?)$/i),
  urn: byPattern('URN', /^(urn:[a-z0-9][a-z0-9-]{0,31}:\S+)$/i),
  purl: byPattern('PURL', /^(https?:\/\/purl\.(?:org|net|com|oclc\.org|archive\.org)\/\S+)$/i),
  w3id: byPattern('W3ID', /^(https?:\/\/w3id\.org\/\S+)$/i),
  handle: byPattern('Handle', /^(?:https?:\/\/hdl\.handle\.net\/|hdl:\s*)?(\d+(?:\.\d+)*\/\S+)$/i),
  url: byPattern('URL', /^(?:https?|ftps?):\/\/\S+$/i),
  igsn: unchecked('IGSN'),
  upc: unchecked('UPC'),
  grid: unchecked('GRID'),
  crossreffunderid: unchecked('Crossref Funder ID'),
  wikidata: unchecked('Wikidata'),
  geonames: unchecked('GeoNames'),
  other: unchecked('Other'),
} as const satisfies Record<string, Scheme>;

export type SchemeId = keyof typeof SCHEMES;

const CANNOT_BE_GUESSED: readonly string[] = [
  ...['igsn', 'upc', 'grid', 'crossreffunderid', 'wikidata', 'geonames', 'other', 'w3id', 'eissn', 'lissn'],
];

/** The detected scheme, among the allowed ones, of a value without one. */
export function guessScheme(value: string, allowed: readonly SchemeId[]): SchemeId | undefined {
  return (Object.keys(SCHEMES) as SchemeId[]).find(
    (id) =>
      allowed.includes(id) && !CANNOT_BE_GUESSED.includes(id) && SCHEMES[id].normalise(value) !== undefined,
  );
}
