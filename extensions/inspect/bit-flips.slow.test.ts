import { expect, test } from "vitest";
import { flipBits } from "./bit-flips.fixture.ts";
import { wholeRun } from "./whole-run.fixture.ts";

test("of 1,000 flipped bits over the files of a run each is refused, warned of, or changes nothing that is read", async () => {
  const folder = await wholeRun();
  const { unchanged } = await flipBits(folder, 1000);
  // What changes nothing: names of fields of seals, headers of gzip, older checkpoints, which nobody read.
  expect(unchanged).toBeLessThan(250);
});
