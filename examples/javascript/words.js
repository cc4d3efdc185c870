// Splits text into words and numbers them, by the rules in a model's tokenizer.json: docs/format.md says how.
//
// The rules are two regular expressions in the syntax of Oniguruma. JavaScript has no possessive quantifiers
// and no atomic groups, but a lookahead never gives back what it matched: `x++` becomes `(?=(?<a1>x+))\k<a1>`.

const UNKNOWN = 1;

// Escapes, classes, openings of groups, quantifiers, other characters
const PIECES = /\\[xpu]\{\w+\}|\\u\w{4}|\\.|\[(?:\\.|[^\]\\])*\]|\(\?(?:[:=!>]|<[=!])|(?:[*+?]|\{[\d,]+\})[+?]?|./gs;
const ESCAPES = { "\\s": "\\p{White_Space}", "\\z": "$", "\\#": "#", '\\"': '"', "\\x{": "\\u{" };

function translate(rules) {
  const open = [{ opening: "", inside: [] }];
  let count = 0;
  const atomic = (inner) => `(?:(?=(?<a${++count}>${inner}))\\k<a${count}>)`;
  for (const piece of rules.match(PIECES)) {
    const { inside } = open.at(-1);
    if (piece.startsWith("(")) open.push({ opening: piece, inside: [] });
    else if (piece === ")") {
      const group = open.pop();
      const inner = group.inside.join("");
      open.at(-1).inside.push(group.opening === "(?>" ? atomic(inner) : `${group.opening}${inner})`);
    } else if (/^[*+?]\+$/.test(piece)) inside.push(atomic(inside.pop() + piece[0]));
    else if (/^([*+?]|\{[\d,]+\})\??$/.test(piece)) inside.push(inside.pop() + piece);
    else inside.push(piece.replace(/\\(?:x\{|.)/g, (escape) => ESCAPES[escape] ?? escape));
  }
  return new RegExp(open[0].inside.join(""), "gu");
}

class Tokenizer {
  // The content of tokenizer.json, and the option max_length of the recipe, 0 for all words
  constructor({ normalizer, pre_tokenizer, model }, maxLength = 0) {
    const splits = pre_tokenizer.type === "Sequence" ? pre_tokenizer.pretokenizers : [pre_tokenizer];
    const rules = splits.map(({ pattern }) => translate(pattern.Regex));
    this.words = rules.pop();
    this.characters = rules.pop(); // cuts scripts without spaces between words, where it is there
    this.lowercase = normalizer !== null;
    this.vocabulary = model.vocab;
    this.maxLength = maxLength;
  }

  // [{word, id}], the words as they are written; a text without words is one unknown word
  encode(text) {
    const whole = text.replace(/\p{Surrogate}/gu, "\ufffd"); // half a character is not text
    const lowered = this.lowercase ? [...whole].map((letter) => letter.toLowerCase()).join("") : whole;
    const written = lowered.length === whole.length ? whole : lowered; // a few letters grow
    const found = this.locate(lowered).map(([start, word]) => ({
      word: written.slice(start, start + word.length),
      id: this.number(word),
    }));
    return found.length ? found.slice(0, this.maxLength || undefined) : [{ word: "", id: UNKNOWN }];
  }

  // [[start, word]], in each character of a script without spaces and in each piece between them
  locate(text) {
    const cuts = this.characters ? [...text.matchAll(this.characters)] : [];
    const edges = [0, ...cuts.flatMap(({ 0: cut, index }) => [index, index + cut.length]), text.length];
    return edges.slice(1).flatMap((edge, k) => {
      const found = text.slice(edges[k], edge).matchAll(this.words);
      return Array.from(found, ({ 0: word, index }) => [edges[k] + index, word]);
    });
  }

  number(word) {
    return Object.hasOwn(this.vocabulary, word) ? this.vocabulary[word] : UNKNOWN;
  }
}

module.exports = { Tokenizer };
