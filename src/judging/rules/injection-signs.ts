/**
 * Signs that a text addresses the grading model rather than a reader (prompt injection). A grade for a text with such
 * signs is flagged for review. The text is never changed, because the same words occur in harmless texts.
 * `bench/judging-flags.ts` measures how many attacks and how many harmless sentences are flagged.
 */

/** Chat template markup, which does not occur in prose. */
const markup: readonly RegExp[] = [
  /<\|[^|>\n]{1,40}\|>/u,
  /\[\/?(?:inst|sys)\]|<<\/?sys>>/u,
  /<\/?(?:system|assistant|instructions?|prompt)>/u,
  /(?:^|\n)\s*(?:#{1,4}\s*)?(?:system|assistant|developer)\s*:[^\n]{0,80}\b(?:you|ignore|grade|score|rating|instruction|note|bewertung|puntuacion)/u,
  /[{,]\s*["'](?:relevance[_ ]?)?(?:grade|score|rating|relevance)["']\s*:\s*["']?[0-3]\b(?!\.?\d)/u,
  /\b(?:the (?:correct )?(?:relevance )?(?:grade|rating|relevance score) is|relevance[_ ](?:grade|score|rating)\s*[:=])\s*["']?(?:[0-3]\b(?!\.?\d)|three\b)/u,
];

const ignoring: readonly RegExp[] = [
  // English
  /\b(?:ignore|disregard|forget|override|bypass|neglect|overrule|dismiss|set aside|pay no (?:attention|heed) to|do(?: not|n'?t) follow|stop following)\b[^.!?\n]{0,30}\b(?:previous|prior|above|earlier|preceding|your|all|system|original|these|grading|you (?:received|were))\b[^.!?\n]{0,20}\b(?:instructions?|prompts?|rubrics?|guidelines|directions|directives|criteria|rules|orders)\b/u,
  /\b(?:ignore|disregard|forget|override|dismiss|set aside|pay no (?:attention|heed) to)\b[^.!?\n]{0,20}\b(?:rubrics?|prompts?|guidelines|instructions?|criteria|rules)\b[^.!?\n]{0,20}\b(?:above|before|you (?:received|were (?:given|told)|have))\b/u,
  /\b(?:whatever|what|everything|anything) you were (?:told|asked|given)\b/u,
  // German
  /\b(?:ignorier\w*|missacht\w*|vergiss|verges(?:st|sen sie)|ubergeh\w*|verwirf)\b[^.!?\n]{0,30}\b(?:bisherig\w*|vorherig\w*|vorig\w*|obig\w*|alle\w*|deine\w*|fruhere\w*|ursprunglich\w*|gegeben\w*)\b[^.!?\n]{0,25}\b(?:anweisung|anleitung|regel|vorgabe|instruktion|richtlini|kriteri|prompt|bewertungs)\w*/u,
  /\b(?:regeln|vorgaben|anweisungen|richtlinien|kriterien)\b[^.!?\n]{0,30}\b(?:auss?er acht|aufgehoben|ausser kraft|gelten nicht mehr|sind ungultig)/u,
  /\bwas (?:dir|ihnen|euch)\b[^.!?\n]{0,40}\b(?:gesagt|aufgetragen|vorgegeben)\b/u,
  // French
  /\b(?:ignore[rz]?|oublie[rz]?|neglige[rz]?|ne (?:tiens|tenez) (?:pas|plus) compte|fai(?:s|tes) abstraction|ne sui(?:s|vez) (?:pas|plus))\b[^.!?\n]{0,30}\b(?:instructions?|consignes?|regles|directives?|criteres?|grille|prompt)\b[^.!?\n]{0,20}(?:precedent|ci-dessus|anterieur|recu|donne|d'evaluation|de notation)/u,
  /\bce qu[e']\s?(?:l'on |on )?(?:t'a|vous a|t'ont|vous ont)\b[^.!?\n]{0,20}\bdit\b/u,
  // Spanish, and similar words in Italian and Portuguese
  /\b(?:ignor[aeo]|olvid[ae]|descart[ae]|dimentica|esqueca|no (?:sigas?|tengas? en cuenta|hagas? caso)|haz caso omiso|haga caso omiso|pasa por alto|non seguire)\b[^.!?\n]{0,30}\b(?:instruc\w+|istruzioni|indicaciones|reglas|directrices|criterios|rubrica|consignas|regole|regras)\b/u,
  /\blo que te (?:dijeron|han dicho|ordenaron)\b/u,
  // Japanese and Chinese
  /(?:これまで|今まで|以前|上記|先ほど|前述|元|すべて|全て|与えられた|受け取った)の?[^。\n]{0,12}(?:指示|命令|ルール|規則|基準|プロンプト|ガイドライン)[^。\n]{0,10}(?:無視|忘れ|従わな|考慮せず|破棄|取り消)/u,
  /(?:評価|採点|判定)(?:の)?(?:基準|ルール|指示)[^。\n]{0,10}(?:無視|忘れ|破棄|無効|取り消)/u,
  /(?:前に|以前に?|これまでに?)[^。\n]{0,6}(?:言われた|指示された|教えられた)/u,
  /(?:忽略|无视|忘记|不要遵循)[^。\n]{0,12}(?:指令|指示|说明|规则|提示)/u,
  // Claims in any of these languages that the task has ended, has changed or was wrong
  /\b(?:end of (?:the )?(?:document|text|passage|context)|ende des (?:dokuments|textes)|fin du (?:document|texte)|fin del? (?:documento|texto))\b|文書の終わり/u,
  /\b(?:new (?:task|instructions?)|neue (?:aufgabe|anweisung\w*)|nouvelles? (?:tache|instructions?|consignes?)|nuevas? (?:tarea|instruccion\w*))\s*:|新しい(?:課題|指示|タスク)[^。\n]{0,2}:/u,
  /\b(?:your|deine|tes|tus) (?:earlier|first|initial|original|previous|ersten|bisherigen|ursprunglichen|premieres|anciennes|primeras|anteriores)\b[^.!?\n]{0,12}\b(?:instructions?|anweisungen|vorgaben|consignes|instrucciones)\b/u,
  /(?:最初|元|以前)の指示(?:は|が)[^。\n]{0,12}(?:間違|誤|無効|変)/u,
  /\b(?:scoring|grading|rating) (?:scheme|policy|rules?|rubric|system|criteria) (?:has|have|was|were) (?:been )?(?:changed|updated|replaced)\b/u,
  /\b(?:bewertungsschema|bewertungsrichtlinie\w*|bewertungskriterien) (?:wurden?|hat|haben|sind)\b[^.!?\n]{0,15}\b(?:geandert|aktualisiert|ersetzt)/u,
  /\b(?:bareme|grille de notation|(?:politique|criteres) de notation) (?:a|ont) (?:ete )?(?:change|mis)/u,
  /\b(?:baremo|(?:politica|criterios) de (?:puntuacion|calificacion|evaluacion)) (?:ha|han|se ha) (?:sido )?(?:cambiado|actualizado)/u,
  /(?:採点|評価)(?:方式|基準|方針|ルール)が(?:変わ|変更|更新)/u,
  /\b(?:halte? dich nicht an|ne respecte(?:z)? pas|no respetes?|do not (?:heed|obey))\b[^.!?\n]{0,30}\b(?:oben|plus haut|ci-dessus|arriba|above)\b|上に書かれたこと(?:を守らず|は無視)/u,
  // Russian
  /(?:игнорируй|забудь|не следуй|не обращай)[^.!?\n]{0,30}(?:инструкци|указани|правил)/u,
];

const addressing: readonly RegExp[] = [
  /\b(?:note|message|memo|attention|dear|hello|hey|instructions?) (?:to|for)?\s?(?:the |this |any |all )?(?:ai\b|llms?\b|large language model|language model|chat ?bot|(?:ai |automated |automatic )?(?:grader|evaluator|rater|assessor|annotator)s?\b)/u,
  /\bas an? (?:ai|llm|language model|automated (?:grader|evaluator))\b[^.!?\n]{0,30}\byou\b/u,
  /\byou are (?:now|from now on|hereby)\b[^.!?\n]{0,40}\b(?:grader|judge|evaluator|rater|assistant|model|ai)\b/u,
  /\bdu bist (?:jetzt|nun|ab sofort|von nun an)\b[^.!?\n]{0,40}\b(?:gutachter|bewerter|prufer|richter|assistent|modell|ki)\b/u,
  /\b(?:hinweis|nachricht|anweisung) (?:an|fur) (?:das|die|den|alle)\s?(?:sprachmodell|ki\b|bewerter|modell)/u,
  /\b(?:liebe|sehr geehrte|hallo|achtung,?) (?:ki|bewertungs-?ki|sprachmodell)\b/u,
  /\b(?:tu es|vous etes) (?:desormais|maintenant|a present)\b[^.!?\n]{0,40}\b(?:correcteur|evaluateur|juge|assistant|modele|ia)\b/u,
  /\b(?:note|message|consigne|instructions?) (?:pour|a) (?:le |l'|la )?(?:modele|ia\b|evaluateur|correcteur)/u,
  /\b(?:chere|bonjour|attention,?) (?:ia|modele)\b/u,
  /\b(?:ahora eres|eres ahora|a partir de ahora eres|desde ahora eres)\b[^.!?\n]{0,40}\b(?:evaluador|juez|calificador|asistente|modelo|ia)\b/u,
  /\b(?:nota|mensaje|instruccion(?:es)?) (?:para|a) (?:el |la |los )?(?:modelo|ia\b|evaluador)/u,
  /\b(?:estimada|querida|hola,?) (?:ia|inteligencia artificial)\b/u,
  /(?:言語モデル|aiモデル|ai評価者|採点ai|評価ai)(?:へ|向け|に)の?(?:注意|指示|お知らせ|メッセージ)/u,
  /あなたは(?:今から|これから|現在)[^。\n]{0,20}(?:採点者|評価者|審査員|アシスタント|モデル)/u,
  /aiの(?:皆さん|皆様|方)/u,
];

/**
 * Returns a pattern for the words of one topic, in all languages that the signs cover. Latin words match only at the
 * start of a word.
 */
const words = (latin: string, others: string): RegExp => new RegExp(`(?:^|[^\\p{L}\\d])(?:${latin})|${others}`, 'u');

/** Topics of a sentence that demands a grade, in any order. */
const topics = {
  grade: words(
    'grad(?:e|es|ed|ing)\\b|rat(?:e|es|ed|ing|ings)\\b|scor(?:e|es|ed|ing)\\b|relevan|rubric|evaluat|judged?\\b|mark(?:ed|s)?\\b|bewert|note|punktzahl|stuf|einstuf|einzustuf|einordn|ordne|notation|noter|notez|pertinen|bareme|grille|jugee\\b|nota\\b|puntu|calific|clasific|rubrica|juzg|class(?:e|ez|ify)\\b|rank\\b',
    '評価|採点|スコア|関連|判定|点数|点を',
  ),
  top: words(
    '3(?![.:,]?\\d)|three\\b|drei\\b|trois\\b|tres\\b|full marks|top\\b|(?:the )?(?:highest|maximum|best|perfect|most relevant)|fully|perfectly|hochste|oberste|best|volle|maximal|perfekt|relevantest|maxima|(?:la |le |el )?(?:plus|mas) (?:haut|eleve|alt|pertinent|relevante)|meilleur|parfait|mejor|perfect|(?:entierement|totalement|totalmente|completamente|voll) (?:pertinent|relevan)',
    '(?:は|を|に|と|の|、|:)(?:3|三)(?!\\d|つ|番|か月|十|百)|満点|最高|最良|一番(?:上|高|良)|最も関連|完璧|完全に',
  ),
  order: words(
    "must\\b|should\\b|always\\b|please\\b|simply\\b|do not\\b|do(?:es)?n't\\b|you (?:will|are|must|should)\\b|give\\b|assign|award|answer with|output\\b|return\\b|re(?:spond|ply) |choose\\b|pick\\b|apply\\b|treat\\b|consider\\b|(?:rate|grade|score|mark|rank) (?:it|this|the|every)\\b|the only right|deserves|soll\\b|muss\\b|immer\\b|bitte\\b|einfach\\b|du (?:wirst|bist|musst)|gib\\b|vergib|antworte|wahle|wende\\b|bewerte\\b|ordne\\b|stufe\\b|ist immer|nur die|verdient|bekommt|doit\\b|dois\\b|toujours\\b|simplement\\b|n'applique|tu (?:seras|es|dois)|donne|attribue|accorde|reponds|repondez|choisis|considere|classe[z]?\\b|la seule|merite|recoit|vaut|debe\\b|siempre\\b|simplemente\\b|no apliques|seras\\b|da\\b|asigna|otorga|responde|elige|elegir|choisir|considera|clasifica|puntua\\b|la unica|merece|recibe",
    'してください|こと。?$|べき|与え|付けて|付けれ|選んで|選ぶ|答えて|並べて|常に|いつも|だけです|に値し',
  ),
  self: words(
    '(?:this|the (?:above|current)|every|pages? like this) ?(?:document|passage|text|result|page|answer|article|source|content|entry|chunk|one)?\\b|here\\b|diese|das aktuelle|jede[mns]? dokument|hier\\b|solche seiten|ce(?:t|tte)? (?:document|passage|texte|page|resultat|paragraphe|article|extrait|entree)|cette|chaque document|ici\\b|ces pages|est[ea]s? |cada documento|aqui\\b',
    'この|本文書|ここ|どの文書|現在の文書',
  ),
  model: words(
    'model\\b|language model|assistant\\b|grader|evaluator|(?:retrieval )?judge\\b|ai\\b|llm|modell|assistent|bewerter|bewertende|ki\\b|modele|evaluateur|correcteur|ia\\b|modelo|asistente|evaluador',
    'モデル|アシスタント|評価者|採点者|ai',
  ),
} as const;

/** True if the topics of one sentence, or of two consecutive sentences, show that the text demands a grade. */
function demandsGrade(text: string): boolean {
  const sentences = text.split(/(?<=[.!?。\n])\s*/u);
  return sentences.some((sentence, at) => {
    const passage = `${sentence} ${sentences[at + 1] ?? ''}`.slice(0, MAX_PASSAGE);
    if (!topics.top.test(passage) || !topics.order.test(passage)) return false;
    const mentions = (topic: RegExp): boolean => topic.test(passage);
    return [topics.grade, topics.self, topics.model].filter(mentions).length >= 2;
  });
}

const MAX_PASSAGE = 240;

const grading: readonly RegExp[] = [
  /\b(?:please )?(?:rate|grade|score) this (?:document|passage|text|page|result) (?:highly|well|generously|favou?rably)\b/u,
  /\b(?:write|put|record|enter|schreib\w*|setze?|trag\w*|mets|mettez|inscri\w+|ecri\w+|escrib\w+|pon|ponga)\b[^.!?\n]{0,25}\b(?:3|three|drei|trois|tres)\b[^.!?\n]{0,25}\b(?:here|result|braces|brackets|ergebnis|klammern|resultat|accolades|resultado|llaves)\b/u,
  /\b(?:here|braces|ergebnis|klammern|accolades|llaves)\b[^.!?\n]{0,25}\b(?:number|zahl|chiffre|numero) (?:3|three|drei|trois|tres)\b/u,
  /(?:結果|括弧|欄)[^。\n]{0,8}(?:3|三)[^。\n]{0,4}(?:書い|入れ|記入)/u,
  /(?:一番|最も)(?:良い|高い|いい)(?:点|評価|スコア)[^。\n]{0,4}(?:つけ|付け|与え|出力)/u,
  /\b(?:meilleure|mejor|beste) (?:des|de las|aller) (?:notes|notas|noten)\b/u,
  /\b(?:ideal|perfect|complete) answer to (?:the|this) (?:question|query)\b/u,
  /\b(?:grader|evaluator|rater|judge model|bewerter|evaluateur|evaluador)\b[^.!?\n]{0,10}\b(?:must|should|has to|have to|hat|muss|soll|doit|debe)\b/u,
  /(?:評価者|採点者)は[^。\n]{0,40}(?:なければなりません|べきです|してください)/u,
  /\b(?:developer|author|entwickler|developpeur|desarrollador)\b[^.!?\n]{0,15}\b(?:evaluation|auswertung|bewertung|evaluacion|grading)\b|(?:評価|採点)の(?:開発者|作成者)/u,
  /\b(?:relevance|relevan[zc]ia?|relevanz|pertinence)\b[^.!?\n]{0,30}\(3\)|関連度[^。\n]{0,12}\(3\)/u,
  /\bfully answers the (?:question|query)\b[^.!?\n]{0,40}\b(?:score|grade|rating|marks)\b/u,
  /\b(?:raters?|graders?|evaluators?|prufer|bewerter|evaluateurs?|evaluador(?:es)?)\b[^.!?\n]{0,50}\b(?:this|diese\w*|ce|este)\b[^.!?\n]{0,40}\b3\b/u,
  /\b(?:raters?|graders?|prufer|bewerter|evaluateurs?|evaluadores)\b[^.!?\n]{0,50}\b3\b[^.!?\n]{0,30}\b(?:this|diese\w*|ce|este)\b/u,
  /\b(?:bewertung|note|puntuacion|calificacion|grade|rating)\b[^.!?\n]{0,30}(?:diese\w*|ce|este|this) \w+[^.!?\n]{0,15}(?::|\bist|\best|\bes|\bis)\s*3\b/u,
  /(?:この|本|当)(?:文書|文章|ドキュメント|テキスト|ページ|段落|パッセージ|検索結果)[^。\n]{0,25}(?:3点|三点|満点|最高(?:点|評価|得点)|(?:スコア|評価|関連度|グレード)は?(?:3|三)|完璧|完全に関連)/u,
  /(?:評価|採点|スコア|点数|グレード|関連度)(?:は|を|に)?(?:3|三|満点|最高)[^。\n]{0,15}(?:答え|付け|与え|出力|返し|して)/u,
  /(?:この|该|此|本)(?:文档|文件|文章|段落)[^。\n]{0,20}(?:3分|满分|最高分)/u,
];

/** Digits that replace letters. The digit 1 can replace i or l, so there are two maps. */
const disguises: readonly Readonly<Record<string, string>>[] = [
  { '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', $: 's' },
  { '0': 'o', '1': 'l', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', $: 's' },
];

/** Letters of other alphabets that look like Latin ones (confusables). */
const confusables: Readonly<Record<string, string>> = {
  а: 'a',
  е: 'e',
  о: 'o',
  р: 'p',
  с: 'c',
  х: 'x',
  у: 'y',
  і: 'i',
  ѕ: 's',
  ј: 'j',
  ԁ: 'd',
  ο: 'o',
  α: 'a',
  ε: 'e',
  ι: 'i',
  ν: 'v',
};

/** True if the text addresses a grading model, even if it is disguised with digits, gaps, confusables or Base64. */
export function addressesModel(text: string): boolean {
  const plain = normalized(text);
  return [plain, ...undisguised(plain), ...decoded(text)].some(hasSign);
}

function hasSign(text: string): boolean {
  if ([markup, ignoring, addressing, grading].some((signs) => signs.some((sign) => sign.test(text)))) return true;
  return demandsGrade(text);
}

/**
 * Converts a text to lower case without accents, invisible characters and confusables; keeps Japanese voicing marks.
 */
function normalized(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/([a-zA-Z])\p{M}+/gu, '$1')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('’', "'")
    .replaceAll(/\p{L}+/gu, (word) =>
      /[a-z]/.test(word) ? Array.from(word, (one) => confusables[one] ?? one).join('') : word,
    );
}

/** Returns the versions of the text that result from undoing possible disguises. */
function undisguised(text: string): string[] {
  const found: string[] = [];
  if (/(?:\b\p{L}[ .\-_]){5,}/u.test(text))
    found.push(text.replaceAll(/(?<=\b\p{L})[ .\-_](?=\p{L}\b)/gu, '').replaceAll(/ {2,}/g, ' '));
  if (/[a-z][0-9@$]|[0-9@$][a-z]/.test(text))
    for (const letters of disguises)
      found.push(
        text.replaceAll(/[a-z0-9@$]*[a-z][a-z0-9@$]*/g, (word) =>
          Array.from(word, (one) => letters[one] ?? one).join(''),
        ),
      );
  return found;
}

/** Decodes Base64 passages that contain text. */
function decoded(text: string): string[] {
  return [...text.matchAll(/[A-Za-z0-9+/]{24,}={0,2}/g)].slice(0, 20).flatMap(([encoded]) => {
    const plain = Buffer.from(encoded, 'base64').toString('utf8');
    return /^[\p{L}\p{N}\p{P}\p{S}\p{Z}\s]+$/u.test(plain) ? [normalized(plain)] : [];
  });
}
