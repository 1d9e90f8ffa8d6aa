import { expect, test } from "vitest";
import { openingCommand } from "./open-browser.ts";

test("each system has its own word for opening an address", () => {
  const url = "http://127.0.0.1:5173";
  expect(openingCommand("darwin", url)).toEqual(["open", url]);
  // The first quoted argument of `start` is a window's title.
  expect(openingCommand("win32", url)).toEqual(["cmd", "/c", "start", "", url]);
  expect(openingCommand("linux", url)).toEqual(["xdg-open", url]);
});
