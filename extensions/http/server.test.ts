import { expect, test } from "vitest";
import { headLimit, httpDefaults } from "./server.ts";

// Refused with 408 before: a head that lay there for 12 s while the agent of the same process built a tokenizer for each of 32 episodes.
test("a request of this machine has as long for its head as for the whole, one of another machine has 10 s", () => {
  const { requestMs } = httpDefaults;
  for (const host of ["127.0.0.1", "localhost", "::1"]) expect(headLimit(host, requestMs)).toBe(300_000);
  expect(headLimit("0.0.0.0", requestMs)).toBe(10_000);
  expect(headLimit("127.0.0.1.example.com", requestMs)).toBe(10_000);
  expect(headLimit("0.0.0.0", 2000)).toBe(2000);
});
