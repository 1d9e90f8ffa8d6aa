import { expect, test } from "vitest";
import { errorText } from "../cli/error-text.ts";
import { printable, printableLine } from "./printable.ts";
import { createScreen } from "./screen.ts";

const attack = "a\x1b]0;title\x07b\x1b[2Jc\x9b1md\re\u202ef";

test("what steers a terminal is shown as a dot, text and new lines stay", () => {
  expect(printable(attack)).toBe("a·]0;title·b·[2Jc·1md·e·f");
  expect(printable("tab\tline\né 😀 日本")).toBe("tab\tline\né 😀 日本");
  expect(printable("\ud800")).toBe("·");
});

test("lines keep the program's colours and lose everything else", () => {
  expect(printableLine(`\x1b[33mwarning: ${attack}\x1b[39m`)).toBe(`\x1b[33mwarning: ${printable(attack)}\x1b[39m`);
});

test("nothing of it reaches a terminal: not by a line, a status, nor an error", () => {
  const written: string[] = [];
  const screen = createScreen({ isTTY: true, columns: 80, write: (text) => written.push(text) });
  screen.line(attack);
  screen.status(attack);
  written.push(errorText(new Error(attack), false), errorText(new Error(attack), true));
  for (const text of written)
    for (const code of ["\x1b]", "\x07", "\x1b[2J", "\x9b", "\u202e"]) expect(text.includes(code)).toBe(false);
});

test("each colour and weight of the program's own lines stays, and what only looks like one does not", () => {
  const kept = [0, 1, 2, 3, 4, 7, 8, 9, 22, 23, 24, 27, 28, 29, 30, 37, 39, 40, 47, 49, 90, 97, 100, 107].map(
    (code) => `\x1b[${code}m`,
  );
  for (const code of kept) expect(printableLine(`${code}a`)).toBe(`${code}a`);
  for (const code of ["\x1b[5m", "\x1b[6m", "\x1b[10m", "\x1b[38m", "\x1b[48m", "\x1b[98m", "\x1b[108m", "\x1b[1;31m", "\x1b[31"])
    expect(printableLine(`${code}a`)).toBe(`·${code.slice(1)}a`);
  for (const direction of ["\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"])
    expect(printable(direction)).toBe("·");
  expect(printable("\u200d\u202f\u2065\u206a")).toBe("\u200d\u202f\u2065\u206a");
});
