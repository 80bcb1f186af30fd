import { type Detector, findByRules, type Rule, type Span } from './detector.ts';

const BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** Detects PEM and PGP private key blocks. A block without an END line extends to the end of the text. */
export const privateKey: Detector = {
  kind: 'private_key',
  find: (text) => {
    const spans: Span[] = [];
    let from = 0;
    while (from < text.length) {
      BEGIN.lastIndex = from;
      const begin = BEGIN.exec(text);
      if (begin === null) break;
      END.lastIndex = BEGIN.lastIndex;
      from = END.exec(text) === null ? text.length : END.lastIndex;
      spans.push({ start: begin.index, end: from });
    }
    return spans;
  },
};

const credentialsRules: readonly Rule[] = [
  { needs: '://', pattern: /[a-z][a-z0-9+.-]{0,20}:\/\/(?<value>[^\s/?#"'<>]+)@/dgiu },
];

export const credentials: Detector = {
  kind: 'credentials',
  find: (text) => findByRules(text, credentialsRules),
};

/** Boundary before a secret key with a known prefix. */
const alone = '(?<![A-Za-z0-9_-])';

const tokenRules: readonly Rule[] = [
  // AWS access key ids.
  {
    pattern: /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])/gu,
  },
  // Tokens of GitHub, GitLab, npm and Hugging Face.
  { needs: '_', pattern: rule(`(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_\\w{22,})`) },
  { needs: 'glpat-', pattern: rule(`glpat-[\\w-]{20,}`) },
  { needs: '_', pattern: rule(`(?:npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,})`) },
  // Slack tokens, and the secret part of Slack webhook addresses.
  { needs: '-', pattern: rule(`(?:xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})`) },
  {
    needs: 'hooks.slack.com/',
    pattern: /hooks\.slack\.com\/(?:services|workflows)\/(?<value>[A-Za-z0-9/]{20,})/dgu,
  },
  // Keys of Stripe, SendGrid and Google.
  { needs: '_', pattern: rule(`(?:[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,})`) },
  { needs: 'SG.', pattern: rule(`SG\\.[\\w-]{16,}\\.[\\w-]{16,}`) },
  { needs: 'AIza', pattern: rule(`AIza[\\w-]{35,}`) },
  { needs: 'ya29.', pattern: rule(`ya29\\.[\\w-]{20,}`) },
  // Keys of OpenAI, Anthropic and similar services. Words such as sk-learn do not match, because they have no long run
  // of letters and digits.
  {
    needs: 'sk-',
    pattern: rule(`sk-[\\w-]{20,}`),
    accepts: (value) => /\d/.test(value) && /[A-Za-z0-9]{16}/.test(value),
  },
  // JSON Web Tokens; the signature may be empty.
  { needs: 'eyJ', pattern: rule(`eyJ[\\w-]{5,}\\.[\\w-]{5,}\\.[\\w-]*`) },
  // Values of HTTP `Authorization` headers.
  {
    pattern:
      /(?<![\p{L}\p{N}])authorization["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?:[a-z]{2,20}[ \t]{1,3})?(?<value>[\w.~+/=:-]{6,})/dgiu,
    accepts: isNoWord,
  },
  {
    pattern: /(?<![\p{L}\p{N}])bearer[ \t]{1,4}(?<value>[\w.~+/=-]{8,})/dgiu,
    accepts: isNoWord,
  },
];

export const token: Detector = { kind: 'token', find: (text) => findByRules(text, tokenRules) };

const passwordWord =
  '(?:pass(?:word|wd|phrase|code)|pwd|passwort|kennwort|contraseña|senha|mot de passe|пароль|密码|密碼)';
const keyWord = '(?:secret|token|key|credentials?|auth|signature)';
const quote = '["\'`]';
/** Assignment in code and config. A colon must be followed by a quote, because a colon is also common in prose. */
const codeAssignment = `${quote}?[ \\t]{0,3}(?:(?:=>|:=|=)[ \\t]{0,3}${quote}?|:[ \\t]{0,3}${quote})`;
const assignment = `${quote}?[ \\t]{0,3}(?:=>|:=|[:=])[ \\t]{0,3}${quote}?`;
const isOrAssignment = `(?:${assignment}|[ \\t]{1,3}(?:is|was|ist|es|est)[ \\t]{1,3}${quote}?)`;
/** Password value: matches up to the next space or quote, without trailing punctuation or further URL parameters. */
const passwordValue = '(?<value>(?:[^\\s"\'`,;&]|[,;](?=[^\\s"\'`])|&(?!\\w{1,40}=)){4,}(?<![.!?)\\]}]))';

const secretRules: readonly Rule[] = [
  { pattern: new RegExp(`${passwordWord}s?${codeAssignment}${passwordValue}`, 'dgiu') },
  {
    // A value after a colon in prose is accepted only if it is not a word.
    pattern: new RegExp(`${passwordWord}s?${assignment}${passwordValue}`, 'dgiu'),
    accepts: (value) => isPassword(value) || /^\d+$/.test(value),
  },
  {
    pattern: new RegExp(`${passwordWord}s?${isOrAssignment}${passwordValue}`, 'dgiu'),
    accepts: isPassword,
  },
  {
    pattern: new RegExp(`(?:${passwordWord}|${keyWord})(?:s|_?id)?${isOrAssignment}(?<value>[\\w+/=.~-]{16,})`, 'dgiu'),
    accepts: looksRandom,
  },
  {
    // A value that follows only a space is accepted if it cannot be a word.
    pattern: new RegExp(`(?:${passwordWord}|${keyWord})[ \\t]{1,3}${quote}?(?<value>[A-Za-z0-9+/=_]{20,})`, 'dgiu'),
    accepts: looksRandom,
  },
];

const announcement = new RegExp(`${passwordWord}|${keyWord}`, 'iu');

/** Detects passwords and long random strings after a word such as "password" or "token". */
export const secret: Detector = {
  kind: 'secret',
  find: (text) => (announcement.test(text) ? findByRules(text, secretRules) : []),
};

function rule(source: string): RegExp {
  return new RegExp(`${alone}${source}`, 'gu');
}

/** True if the value contains digits or inner capitals, as encoded bytes do. */
function isNoWord(value: string): boolean {
  return /\d/.test(value) || /[a-z][A-Z]/.test(value);
}

/**
 * True if the value has at least six characters, including at least one letter, and at least one digit or one symbol
 * that does not occur in words.
 */
function isPassword(value: string): boolean {
  return value.length >= 6 && /\p{L}/u.test(value) && /[\d!@#$%^&*?+]/.test(value);
}

/**
 * True for a value with letters, digits, and a Shannon entropy of at least 3 bits per character. Hex and base64 have
 * this entropy; words do not.
 */
function looksRandom(value: string): boolean {
  if (value.length < 16 || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  const counts = new Map<string, number>();
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1);
  let entropy = 0;
  for (const count of counts.values()) entropy -= (count / value.length) * Math.log2(count / value.length);
  return entropy >= 3;
}
