import { existsSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { InterruptedError } from "../src/sdk/train.ts";
import { interruptedAt, model } from "./interrupted-moments.fixture.ts";
import { writeTinyModel } from "./tiny-model.ts";

beforeAll(() => writeTinyModel(model));

test("a run that is interrupted before it begins says so, and leaves no folder", async () => {
  const { ended, out } = await interruptedAt("open");
  expect(ended).toBeInstanceOf(InterruptedError);
  expect(String(ended)).toMatch(/is "interrupted"\. It had not begun/);
  expect(existsSync(out)).toBe(false);
});
