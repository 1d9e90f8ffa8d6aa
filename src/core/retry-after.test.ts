import { expect, test } from "vitest";
import { retryAfterMs } from "./retry-after.ts";

const of = (headers: Record<string, string>) => retryAfterMs(new Headers(headers));

test("a server's wish for a pause is read in seconds, milliseconds and as a date", () => {
  expect(of({ "retry-after": "3" })).toBe(3000);
  expect(of({ "retry-after": " 0.5 " })).toBe(500);
  expect(of({ "retry-after": "3", "retry-after-ms": "250" })).toBe(250);
  const date = of({ "retry-after": new Date(Date.now() + 60_000).toUTCString() }) ?? 0;
  expect(Math.abs(date - 60_000)).toBeLessThan(5_000);
  expect(of({ "retry-after": new Date(0).toUTCString() })).toBe(0);
});

test("no wish, an empty one and nonsense are none", () => {
  for (const headers of [{}, { "retry-after": "" }, { "retry-after": "soon" }, { "retry-after-ms": "x" }])
    expect(of(headers as Record<string, string>)).toBeUndefined();
});
