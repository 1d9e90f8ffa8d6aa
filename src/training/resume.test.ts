import { test } from "vitest";
import { expectSameAfter } from "./resume.fixture.ts";

// Every kind of run, and more kills, are in resume.slow.test.ts.
test("a run that is killed and resumed writes what it would have written", async () => {
  await expectSameAfter("seeupo, with evaluations", [9, { share: 0.7 }, -1]);
});

test("so does one with roles", async () => {
  await expectSameAfter("grpo, with two roles");
});
