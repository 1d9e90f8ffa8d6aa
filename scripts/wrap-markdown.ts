/** Characters in a line of a page: as many as in a line of code. */
const pageWidth = 130;

/** A heading, a row of a table, a comment, a picture of its own or a rule: a line that stays as it is. */
const wholeLine = /^(?:#{1,6} |\||<!--|!\[[^\]]*\]\([^)]*\)$|([-*_])(?: *\1){2,}$)/;
const listItem = /^ *(?:[-*+]|\d{1,9}[.)]) +/;
const fence = /^ *(`{3,}|~{3,})/;
/** A word that would begin another kind of block if a line began with it. */
const startsBlock = /^(?:[-*+]|\d{1,9}[.)]|#{1,6}|[=-]+|[|>].*|`{3}.*|~{3}.*|<[a-z!/].*)$/i;
/** Code in backticks is one word, with the letters that touch it. */
const words = /(?:(`+)(?!`)[\s\S]*?[^`]\1(?!`)|\S)+/g;

/**
 * Fills the paragraphs and list items of a page up to `width` characters. Tables, code and headings stay as they are, and so does everything
 * that a reader sees: only places where lines end differ.
 */
export function wrapMarkdown(page: string, width: number = pageWidth): string {
  const lines = page.split("\n");
  const wrapped: string[] = [];
  let at = 0;
  for (let line = lines[at]; line !== undefined; line = lines[at]) {
    const kept = linesOfCode(lines, at) || Number(line.trim() === "" || wholeLine.test(line));
    if (kept > 0) {
      wrapped.push(...lines.slice(at, at + kept));
      at += kept;
      continue;
    }
    const from = ++at;
    while (continues(lines[at])) at++;
    wrapped.push(...fill([line, ...lines.slice(from, at)], width));
  }
  return wrapped.join("\n");
}

/** The number of lines of the code that begins here: between fences, or indented behind an empty line. */
function linesOfCode(lines: readonly string[], at: number): number {
  const opened = fence.exec(lines[at] ?? "")?.[1];
  if (opened !== undefined) {
    const length = lines.slice(at + 1).findIndex((line) => line.trim().startsWith(opened));
    return length === -1 ? lines.length - at : length + 2;
  }
  if (at > 0 && lines[at - 1]?.trim() !== "") return 0;
  const length = lines.slice(at).findIndex((line) => !line.startsWith("    "));
  return length === -1 ? lines.length - at : length;
}

function continues(line: string | undefined): boolean {
  return line !== undefined && line.trim() !== "" && !wholeLine.test(line) && !listItem.test(line) && !fence.test(line);
}

/** One paragraph or list item. Its later lines are indented as far as its text. */
function fill([opening, ...others]: readonly [string, ...string[]], width: number): string[] {
  const first = listItem.exec(opening)?.[0] ?? /^ */.exec(opening)?.[0] ?? "";
  const indent = " ".repeat(first.length);
  const text = [opening.slice(first.length), ...others].join(" ");
  const filled: string[] = [];
  let line = "";
  for (const [found] of text.matchAll(words)) {
    const word = found.replace(/\s+/g, " ");
    if (line === "") line = first + word;
    else if ([...line].length + 1 + [...word].length <= width || startsBlock.test(word)) line += ` ${word}`;
    else {
      filled.push(line);
      line = indent + word;
    }
  }
  return [...filled, line];
}
