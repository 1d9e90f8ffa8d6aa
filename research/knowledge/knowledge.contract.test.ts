import "../install.ts";
import { expect, test } from "vitest";
import { call, signal, taskOf, world } from "./knowledge.fixture.ts";
import { knowledgeEnvironment } from "./knowledge.ts";

test("the calculator answers instead of Python, and Python where it is asked for", async () => {
  const task = taskOf(world, 0);
  expect(call(world, task, "python", { code: "6 * 7" })).toBe("42");
  expect(call(world, task, "python", { code: "len('abc')" })).toMatch(/cannot calculate/);
  const real = knowledgeEnvironment({ calculator: "python" }).start(task);
  const python = real.tools.find(({ name }) => name === "python");
  expect(await python?.execute({ code: "len('abc')" }, { signal })).toBe("3");
});
