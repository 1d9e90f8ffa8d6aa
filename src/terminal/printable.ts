import { withoutSecrets } from "../core/secrets.ts";

/**
 * A text as a terminal may show it. Models, tools, environments and files may write anything: what would move the cursor, change the title
 * or the direction of text is shown as a dot, and addresses lose their passwords and keys.
 */
export function printable(text: string): string {
  return withoutSecrets(text).replace(unprintable, "·");
}

/** The same for lines of the program, which have colours of its own. Foreign text may be coloured, and nothing else. */
export function printableLine(text: string): string {
  return text
    .split(colour)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join("");
}

/** Control characters but for tab and new line, halves of surrogate pairs, and what changes the direction of text. */
const unprintable = /[^\P{Cc}\t\n]|\p{Cs}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Colours and weights, as picocolors writes them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
const colour = /(\x1b\[(?:[0-47-9]|2[2-9]|[349][0-7]|[34]9|10[0-7])m)/;
