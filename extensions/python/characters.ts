/** Python's notions of characters: lines, white space, digits. */

const lineEnds = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029";
const lineBreak = new RegExp(`\\r\\n|[${lineEnds}]`);

/** Python's `text.splitlines()`. */
export function splitLines(text: string): string[] {
  const lines = text.split(lineBreak);
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/**
 * The characters that `str.isspace` accepts, as the inside of a character class. JavaScript's \s differs in \x1c-\x1f, \x85 and
 * \ufeff.
 */
export const space = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const word = new RegExp(`[^${space}]+`, "g");
const leading = new RegExp(`^[${space}]+`);
const trailing = new RegExp(`[${space}]+$`);

/** Python's `text.split()`. */
export function splitWords(text: string): string[] {
  return text.match(word) ?? [];
}

/** Python's `text.strip(characters)`, and of one side alone. */
export function strip(text: string, characters: string | null, side: "both" | "left" | "right"): string {
  if (characters === null) {
    const left = side === "right" ? text : text.replace(leading, "");
    return side === "left" ? left : left.replace(trailing, "");
  }
  const set: ReadonlySet<string | undefined> = new Set(characters);
  const points = [...text];
  let start = 0;
  let end = points.length;
  if (side !== "right") while (set.has(points[start])) start++;
  if (side !== "left") while (end > start && set.has(points[end - 1])) end--;
  return points.slice(start, end).join("");
}

const decimal = /^\p{Nd}$/u;
/** Digits that are no decimal digits: superscripts, subscripts, circled ones and the like (Numeric_Type=Digit). */
const otherDigit =
  /^[²³¹፩-፱᧚⁰⁴-⁹₀-₉①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒\u{10a40}-\u{10a43}\u{10e60}-\u{10e68}\u{11052}-\u{1105a}\u{1f100}-\u{1f10a}]$/u;

/** Python's `character.isdigit()`. */
export function isDigit(character: string): boolean {
  return (
    (character >= "0" && character <= "9" && character.length === 1) || decimal.test(character) || otherDigit.test(character)
  );
}

/** The value of a decimal digit of any script. Undefined for other characters. */
function digitValue(character: string): number | undefined {
  if (character >= "0" && character <= "9" && character.length === 1) return character.charCodeAt(0) - 48;
  if (!decimal.test(character)) return undefined;
  // Decimal digits come in runs of ten, each from zero to nine.
  let start = character.codePointAt(0) ?? 0;
  const code = start;
  while (decimal.test(String.fromCodePoint(start - 1))) start--;
  return (code - start) % 10;
}

/** Decimal digits of other scripts as ASCII, as Python's number parsers read them. */
export function asciiDigits(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return text.replace(/\p{Nd}/gu, (character) => String(digitValue(character) ?? character));
}
