import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { ConfigError, EngineError, RunError } from "../../../src/core/errors.ts";
import { HttpError } from "../../http/http-error.ts";
import { type Guard, requireOwn } from "./guard.ts";
import { NotFound, problem, Refused } from "./http.ts";

const here: Guard = { host: "127.0.0.1", port: 4747, token: undefined };
const abroad: Guard = { host: "box.example", port: 4747, token: "secret" };
const own = "127.0.0.1:4747";
/** Why a request is refused, with its status; "answered" if it is not. */
function answerTo(headers: Record<string, string | undefined>, { guard = here, url = "/api/runs", method = "GET" } = {}): string {
  try {
    requireOwn({ method, url, headers: { host: own, ...headers } } as IncomingMessage, guard);
    return "answered";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return `${error.status}: ${error.message}`;
  }
}
const othersPage = "403: Other pages may not ask the dashboard.";
const token = "401: This dashboard needs the token that was printed where it was started: open the address with ?token=.";

test.each([
  ["127.0.0.1:4747", here, "answered"],
  ["localhost:4747", here, "answered"],
  ["[::1]:4747", here, "answered"],
  ["127.0.0.1:4748", here, '421: This server does not answer to the name "127.0.0.1:4748".'],
  ["127.0.0.1", here, '421: This server does not answer to the name "127.0.0.1".'],
  ["127.0.0.1", { ...here, port: 80 }, "answered"],
  ["evil.example:4747", here, '421: This server does not answer to the name "evil.example:4747".'],
  ["10.0.0.1:4747", here, '421: This server does not answer to the name "10.0.0.1:4747".'],
  [`${"a".repeat(100)}:4747`, here, `421: This server does not answer to the name "${"a".repeat(80)}".`],
  [undefined, here, '421: This server does not answer to the name "".'],
  // With a token the own name and addresses are names of it; the token is asked for next.
  ["box.example:4747", abroad, token],
  ["10.0.0.1:4747", abroad, token],
  ["[fe80::1]:4747", abroad, token],
  ["evil.example:4747", abroad, '421: This server does not answer to the name "evil.example:4747".'],
])("the host %s", (host, guard, answer) => {
  expect(answerTo({ host }, { guard })).toBe(answer);
});

test.each([
  [{ "sec-fetch-site": "same-origin" }, {}, "answered"],
  [{ "sec-fetch-site": "none" }, {}, "answered"],
  [{ "sec-fetch-site": "cross-site" }, { url: "/" }, othersPage],
  // A link from elsewhere opens the page, and no answer of its interface.
  [{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, { url: "/" }, "answered"],
  [{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, { url: "/api/runs" }, othersPage],
  [{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, { url: "/", method: "POST" }, othersPage],
  [{ origin: `http://${own}` }, {}, "answered"],
  [{ origin: `https://${own}` }, {}, "403: Other origins may not ask the dashboard."],
  [{}, { method: "DELETE" }, "405: Only GET and POST are known."],
  [{}, { method: "POST" }, "403: Writes are JSON with the header x-retrograde."],
  [{ "x-retrograde": "1" }, { method: "POST" }, "403: Writes are JSON with the header x-retrograde."],
  [{ "content-type": "application/json" }, { method: "POST" }, "403: Writes are JSON with the header x-retrograde."],
  [{ "x-retrograde": "1", "content-type": "application/json" }, { method: "POST" }, "answered"],
])("a request with %j, %j", (headers, request, answer) => {
  expect(answerTo(headers, request)).toBe(answer);
});

test.each([
  [{}, "/", token],
  [{}, "/?token=secret", "answered"],
  [{}, "/?a=b&token=secret", "answered"],
  [{}, "/?token=secret2", token],
  [{}, "/?token=", token],
  [{}, "/?a=b?c&token=secret", "answered"],
  [{}, "/token=secret", token],
  [{ cookie: "retrograde-token=secret" }, "/", "answered"],
  [{ cookie: "a=b;  retrograde-token=secret; c=d" }, "/", "answered"],
  [{ cookie: "retrograde-token=wrong" }, "/", token],
  [{ cookie: "retrograde-token=wrong" }, "/?token=secret", "answered"],
  [{ cookie: "other=secret" }, "/", token],
])("with a token, a request with %j for %s", (headers, url, answer) => {
  expect(answerTo(headers, { guard: { ...here, token: "secret" }, url })).toBe(answer);
});

test.each<[unknown, number, string]>([
  [new Refused(403, "no"), 403, "no"],
  [new NotFound("none"), 404, "none"],
  [new HttpError(413, "body", 9), 413, "body is 9."],
  [new RunError("a run", "damaged"), 422, 'a run is "damaged".'],
  [new ConfigError("a setting", 1), 422, "a setting is 1."],
  [new EngineError("an engine", 1), 500, "an engine is 1."],
  [new Error("a path of this machine"), 500, "The dashboard's server failed."],
])("the problem of %s", (error, status, message) => {
  expect(problem(error)).toEqual({ status, json: { error: message } });
});
