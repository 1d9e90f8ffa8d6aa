import { expect, test } from "vitest";
import { createScreen } from "./screen.ts";

function recorder(isTTY: boolean) {
  const written: string[] = [];
  return { written, stream: { isTTY, columns: 20, write: (text: string) => written.push(text) } };
}

test("without a terminal there are only lines", () => {
  const { written, stream } = recorder(false);
  const screen = createScreen(stream);
  screen.status("half way");
  screen.line("one step");
  screen.clear();
  expect(written).toEqual(["one step\n"]);
});

test("on a terminal a line goes above the status, which is rewritten in one write and never wraps", () => {
  const { written, stream } = recorder(true);
  const screen = createScreen(stream);
  screen.status("a status that is longer than the terminal");
  screen.line("one step");
  const status = "a status that is lo";
  expect(written.map(withoutColours)).toEqual([`\r${status}\x1b[K`, `\rone step\x1b[K\n${status}`]);
});

test("a status that has not changed is not written again", () => {
  const { written, stream } = recorder(true);
  const screen = createScreen(stream);
  screen.status("same");
  screen.status("same");
  expect(written).toHaveLength(1);
});

test.each([
  [undefined, 100],
  [0, 100],
  [1, 20],
  [80, 80],
  [500, 120],
])("a terminal of %s columns is written to in lines of %i", (columns, width) => {
  expect(createScreen({ isTTY: true, columns, write: () => {} }).width).toBe(width);
});

function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  return text.replace(/\x1b\[\d+m/g, "");
}

test("an address of the program's own keeps its key, and no other line does", () => {
  const { written, stream } = recorder(false);
  const screen = createScreen(stream);
  screen.address("Dashboard\x07", "http://127.0.0.1:7007/?key=sk-secret-0123456789");
  screen.line();
  screen.line("see https://user:secret@example.org/");
  expect(written.slice(0, 2)).toEqual(["Dashboard·: http://127.0.0.1:7007/?key=sk-secret-0123456789\n", "\n"]);
  expect(written[2]).not.toContain("secret");
});

test("a status is one line, which is taken away once", () => {
  const { written, stream } = recorder(true);
  const screen = createScreen(stream);
  screen.clear();
  expect(written).toEqual([]);
  screen.status("a\tb\nc");
  screen.clear();
  screen.clear();
  screen.status("a\tb\nc");
  expect(written.map(withoutColours)).toEqual(["\ra b c\x1b[K", "\r\x1b[K", "\ra b c\x1b[K"]);
  screen.address("a", "b");
  screen.line();
  expect(written.slice(3).map(withoutColours)).toEqual(["\ra: b\x1b[K\na b c", "\r\x1b[K\na b c"]);
});
