import { existsSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { InterruptedError } from "../src/sdk/train.ts";
import { interruptedAt, model } from "./interrupted-moments.fixture.ts";
import { writeTinyModel } from "./tiny-model.ts";

beforeAll(() => writeTinyModel(model));

test.each(["open", "size"] as const)(
  "a run that is interrupted at %s, before it begins, says so, and leaves no folder",
  async (moment) => {
    const { ended, out } = await interruptedAt(moment);
    expect(ended).toBeInstanceOf(InterruptedError);
    expect(String(ended)).toMatch(/is "interrupted"\. It had not begun/);
    expect(existsSync(out)).toBe(false);
  },
);
