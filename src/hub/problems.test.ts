import { expect, test } from "vitest";
import { ConfigError, ModelError } from "../core/errors.ts";
import { explain, isPassing, messageOf, Refused, Unreachable } from "./problems.ts";
import { hubSettings } from "./settings.ts";

const name = { repo: "owner/name", revision: undefined };
const settings = { ...hubSettings({ HF_HOME: "/nowhere", HF_ENDPOINT: "https://hub.test" }), token: undefined };
const withToken = { ...settings, token: "hf_x" };
const textOf = (error: unknown) => (error instanceof Error ? error.message : "");

test("overload, faults and silence pass; refusals and mistakes do not", () => {
  const errors = [new Unreachable("no answer"), ...[429, 500, 503, 499, 404, 416].map((status) => new Refused(status, "", ""))];
  expect(errors.map(isPassing)).toEqual([true, true, true, true, false, false, false]);
  expect(isPassing(new Error("a mistake"))).toBe(false);
});

test("a refusal says its status, and the Hub's word for it before the server's", () => {
  expect(new Refused(404, "RepoNotFound", "Not Found").message).toBe("404 RepoNotFound");
  expect(new Refused(404, "", "Not Found").message).toBe("404 Not Found");
  expect(new Refused(404, "", "").message).toBe("404");
});

test.each([
  [new Unreachable("no answer"), settings, "Connect to the network and try again (a download continues"],
  [new Refused(503, "", ""), settings, "The server has a problem: try again later (a download"],
  [new Refused(429, "", ""), settings, "try again in some minutes, with a token in HF_TOKEN if you have one (a download"],
  [new Refused(429, "", ""), withToken, "try again in some minutes (a download"],
  [undefined, { ...settings, offline: true }, "Unset HF_HUB_OFFLINE, or give the folder of a model on this machine"],
])("what passes is explained with what may help: %s", (error, given, hint) => {
  const explained = explain(error, name, given);
  expect(explained).toBeInstanceOf(ModelError);
  expect(textOf(explained)).toContain("model owner/name from https://hub.test is");
  expect(textOf(explained)).toContain(hint);
});

test.each([
  [404, "RevisionNotFound", settings, "a branch, a tag or a commit of owner/name after the @"],
  [401, "GatedRepo", settings, "Accept its terms at https://hub.test/datasets/owner/name, and put a token of your account"],
  [403, "", withToken, "and give the token in HF_TOKEN the right to read it"],
  [404, "", settings, "no such dataset that is public: check the spelling; for a private dataset put a token into HF_TOKEN"],
  [401, "", withToken, "no such dataset that the token in HF_TOKEN can see: check the spelling."],
])("a refusal with %d %s is explained by what the user can do", (status, code, given, text) => {
  const explained = explain(new Refused(status, code, ""), name, given, "dataset");
  expect(explained).toBeInstanceOf(ConfigError);
  expect(textOf(explained)).toContain('dataset is "owner/name"');
  expect(textOf(explained)).toContain(text);
});

test("another refusal asks whether it is a Hub at all, and what is no problem of the Hub's stays", () => {
  expect(textOf(explain(new Refused(418, "", ""), name, settings))).toMatch(
    /status 418.*Is https:\/\/hub.test a Hugging Face Hub\?/,
  );
  const mistake = new TypeError("a mistake");
  expect(explain(mistake, name, settings)).toBe(mistake);
});

test("an error has the message of its deepest cause, our own errors their own", () => {
  const deep = new Error("fetch failed", { cause: new Error("between", { cause: new Error("ENOTFOUND") }) });
  expect(messageOf(deep)).toBe("ENOTFOUND");
  const own = new Unreachable("broke off");
  own.cause = new Error("inner");
  expect(messageOf(own)).toBe("broke off");
  expect(messageOf(Object.assign(new Error(""), { code: "ECONNREFUSED" }))).toBe("ECONNREFUSED");
  expect(messageOf(new TypeError(""))).toBe("TypeError");
  expect(messageOf("text")).toBe("text");
});
