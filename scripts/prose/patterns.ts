interface Pattern {
  readonly name: string;
  readonly pattern: RegExp;
  readonly instead: string;
  readonly example: string;
}

/** A space in `source` matches any white space, so that a phrase is found across a line break. */
function phrase(name: string, source: string, instead: string, example: string, flags = 'gi'): Pattern {
  return { name, pattern: new RegExp(source.replaceAll(' ', '\\s+'), flags), instead, example };
}

/** Words and constructions to avoid. `example` contains a violation; the contract test plants each one. */
export const PATTERNS: readonly Pattern[] = [
  phrase(
    'vague subject',
    '(?<=^|[.;:!?] )\\s*(?:What|Who|Whose|So many|So much|None) [^.!?:;]*(?=[.;:]|$)',
    'name the actor: "Requests that fail …"',
    'What fails is sent again.',
    'g',
  ),
  phrase(
    'whoever',
    '\\b(?:whoever|whomever|whosoever|whatever)\\b',
    'name the actor',
    'An error for whoever calls.',
  ),
  phrase(
    'those that',
    '\\b(?:that which|those that|those who|those which|all that|all who)\\b',
    'use the noun: "files that …", "all rows"',
    'It removes those that expired.',
  ),
  phrase('so many', '\\b(?:so many|so much)\\b', 'give the number and the unit', 'At most so many bytes.'),
  phrase('nobody', '(?<!")\\bnobody\\b', 'name the actor: "no client"', 'It is read by nobody.'),
  phrase(
    'of what',
    '\\b(?:of|for|with|by|to|from|in|than|as) (?:what|who|whom)\\b',
    'use the noun',
    'The size of what is stored.',
  ),
  phrase(
    'tell, hear',
    '\\b(?:tells?|told|telling|hears?|heard)\\b',
    'notify, report, set, publish, subscribe, learn',
    'The gateway is told of it.',
  ),
  phrase('say', '\\b(?:says?|said|saying)\\b', 'return, state, show, specify', 'The answer says 404.'),
  phrase('ask', '\\b(?:asks?|asked|asking)\\b', 'request, call, query, retry', 'The client asks again.'),
  phrase(
    'come',
    '\\b(?:comes?|came|coming)\\b(?! from)',
    'arrive, follow, return, be received',
    'The events come twice.',
  ),
  phrase('stand', '\\b(?:stands?|stood)\\b', 'be, be listed, be stored', 'Its address stands in the file.'),
  phrase(
    'look at',
    '\\blook(?:s|ed|ing)? (?:at|into|through)\\b',
    'check, read, inspect',
    'It looks at the row.',
  ),
  phrase(
    'keep out',
    '\\b(?:keeps?|kept|keeping) (?:out|back|up|apart|away|busy|to|off|still|quiet)\\b',
    'block, delay, keep pace, comply',
    'Writers are kept out.',
  ),
  phrase(
    'hold back',
    '\\b(?:holds?|held|holding) (?:back|out|off|up)\\b',
    'delay, block',
    'It is held back.',
  ),
  phrase(
    'let in',
    '\\b(?:lets?|letting) (?:go|in|through|out|off|alone)\\b',
    'release, admit, allow',
    'It lets go of the lock.',
  ),
  phrase(
    'give back',
    '\\b(?:gives?|given|gave|giving) (?:up|away|back|way|out)\\b',
    'return, release, stop, yield',
    'The place is given back.',
  ),
  phrase(
    'take away',
    '\\b(?:takes?|taken|took|taking) (?:away|back|in|part)\\b',
    'remove, revoke, accept',
    'The right is taken away.',
  ),
  phrase(
    'break off',
    '\\b(?:breaks?|broke|broken|breaking)\\b[^.;:]{0,25}\\boff\\b',
    'cancel, abort, interrupt',
    'The client breaks the download off.',
  ),
  phrase('hand over', '\\bhand(?:s|ed|ing)?[- ]over\\b', 'pass, send, transfer', 'The file is handed over.'),
  phrase('in vain', '\\bin vain\\b', 'fail', 'It is called in vain.'),
  phrase(
    'worth nothing',
    '\\b(?:worth nothing|good for (?:nothing|less|all))\\b',
    'invalid',
    'The token is worth nothing.',
  ),
  phrase('anew', '\\banew\\b', 'again', 'The index is built anew.'),
  phrase(
    'at this moment',
    '\\b(?:at|for) (?:this|that|the) moment\\b',
    'now, currently, at the same time',
    'Too much is running at this moment.',
  ),
  phrase('for good', '\\bfor good\\b', 'permanently', 'The row is deleted for good.'),
  phrase('in turn', '\\bin (?:turns|their turn)\\b', 'one after the other', 'They work in turns.'),
  phrase(
    "one's own",
    "\\bone's\\b|\\bof (?:our|their|its) own\\b",
    'own, a separate',
    'A certificate of an authority of its own.',
  ),
  phrase(
    'sweep',
    '\\b(?:sweeps?|swept|sweeping|sweepers?|orphan(?:s|ed)?)\\b',
    'garbage collection, unreferenced',
    'The orphans are swept.',
  ),
  phrase(
    'none does',
    '\\bnone does\\b|\\bwhen there is none\\b',
    'name the condition: "undefined if not set", "null if no package manages it"',
    'Undefined when there is none.',
  ),
  phrase(
    'ones without a noun',
    '\\b(?:other|invalid|empty|further|undecided|new) ones\\b',
    'repeat the noun',
    'Valid rows are stored, invalid ones are listed.',
  ),
  phrase('the usual one', '\\bthe usual one\\b', 'default', 'The limit is the usual one.'),
  phrase('thing', '\\bthings?\\b', 'use the noun', 'There is no such thing.'),
];
