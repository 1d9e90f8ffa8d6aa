import { expect, test } from "vitest";
import { DeadlineError } from "../../src/core/deadline.ts";
import { EpisodeStop } from "../../src/core/episode-stop.ts";
import { isFaultOfServer, isServiceError, ownErrorsNamed } from "./blame.ts";

test("what a server cannot do is its fault, and what a request cannot have is not", () => {
  const statuses = [200, 400, 401, 402, 403, 404, 405, 408, 409, 413, 422, 425, 429, 499, 500, 503];
  expect(statuses.filter(isFaultOfServer)).toEqual([401, 402, 403, 404, 405, 408, 409, 425, 429, 500, 503]);
});

const nested = (levels: number): unknown => (levels === 0 ? { code: "ECONNRESET" } : { cause: nested(levels - 1) });
test.each([
  [{ code: "ECONNREFUSED" }, true],
  [{ code: "UND_ERR_HEADERS_TIMEOUT" }, true],
  [{ code: "EACCES" }, false],
  [{ syscall: "spawn python" }, true],
  [{ syscall: "open" }, false],
  [{ status: 500 }, true],
  [{ statusCode: 429 }, true],
  [{ status: 400 }, false],
  [{ status: "500" }, false],
  [{ name: "APIConnectionError" }, true],
  [{ name: "APIConnectionTimeoutError" }, true],
  [{ name: "NoAPIConnectionError" }, false],
  [{ name: "APIConnectionErrors" }, false],
  [{ code: "NO_ECONNRESET" }, false],
  [{ code: 111 }, false],
  [{ syscall: "no spawn" }, false],
  [{ status: "400", statusCode: 503 }, true],
  [{ errors: { 0: { status: 503 } } }, false],
  [Object.assign(new TypeError("fetch failed"), { cause: { code: "EACCES" } }), true],
  [new TypeError("fetch failed at last"), false],
  [{ name: "AI_NoObjectGeneratedError" }, false],
  [new TypeError("fetch failed"), true],
  [new Error("fetch failed"), false],
  [{ lastError: { status: 503 } }, true],
  [{ errors: [{ status: 400 }, { status: 503 }] }, true],
  [nested(4), true],
  [nested(5), false],
  ["ECONNREFUSED", false],
  [null, false],
])("%j is an error of a service: %s", (thrown, expected) => {
  expect(isServiceError(thrown)).toBe(expected);
});

test("an agent's own error ends its episode by name; others are thrown as they are", async () => {
  const thrownBy = (error: unknown) => ownErrorsNamed(() => Promise.reject(error)).catch((thrown: unknown) => thrown);
  expect(await ownErrorsNamed(async () => 7)).toBe(7);
  expect(await thrownBy(new Error("no order"))).toMatchObject({
    reason: "agent-error",
    message: expect.stringContaining("no order"),
  });
  for (const error of [
    new EpisodeStop("max-tokens", "full"),
    new DeadlineError(100),
    Object.assign(new Error("x"), { status: 503 }),
  ])
    expect(await thrownBy(error)).toBe(error);
});
