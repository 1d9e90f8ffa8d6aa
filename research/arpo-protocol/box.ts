/**
 * The last box of a text: what stands between its braces, which are counted. Where `\boxed ` is written with a space, it is the text after the
 * last of these, up to the next `$`.
 * @returns undefined without a box, for one that does not close, and for a last `\boxed` that is followed by something else than `{`
 */
export function lastBox(text: string): string | undefined {
  const spaced = text.lastIndexOf("\\boxed ");
  if (spaced !== -1) return text.slice(spaced + "\\boxed ".length).split("$", 1)[0];
  const start = text.lastIndexOf("\\boxed");
  const opening = "\\boxed{";
  if (start === -1 || !text.startsWith(opening, start)) return undefined;
  const end = closingBrace(text, start);
  return end === undefined ? undefined : text.slice(start + opening.length, end);
}

/** Where the first brace that opens from there on is closed. A closing one before it counts against it. */
export function closingBrace(text: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}" && --depth === 0) return at;
  }
  return undefined;
}
