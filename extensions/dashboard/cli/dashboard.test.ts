import { expect, test } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";

test("keys in other lines stay hidden", () => {
  let printed = "";
  createScreen({ write: (text) => (printed += text) }).line("see http://host/?token=secret");
  expect(printed).toBe("see http://host/?token=[key]\n");
});
