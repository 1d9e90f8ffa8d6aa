import { test } from "vitest";
import { expectSameAfter, kinds } from "./resume.fixture.ts";

test.each(Object.keys(kinds) as (keyof typeof kinds)[])(
  "a run that is killed and resumed writes what it would have written: %s",
  async (name) => {
    await expectSameAfter(name);
  },
);
