import { expect, test } from "vitest";
import { checkRuntime, checkSystem } from "./diagnosis.ts";

test("a system without ONNX Runtime is named, and one without our tests too", () => {
  expect(checkSystem("linux", "x64").state).toBe("good");
  expect(checkSystem("win32", "x64")).toMatchObject({ state: "doubtful", advice: expect.stringContaining("linux x64 alone") });
  expect(checkSystem("darwin", "x64")).toMatchObject({ state: "bad", advice: expect.stringContaining("no library for it") });
});

test("where the C API cannot be called, that is said, with what it costs", async () => {
  expect((await checkRuntime()).state).toBe("good");
  const missing = () => Promise.reject(new Error("Cannot find package 'koffi'"));
  expect(await checkRuntime(missing)).toMatchObject({
    state: "doubtful",
    text: expect.stringMatching(/the processor alone computes.*koffi/),
  });
});
