import { expect, test } from "vitest";
import { Episodes, lastRequest } from "./episodes.ts";

const target = { baseUrl: "http://127.0.0.1:1/v1", apiKey: "k", name: "m" };
const refusal = (of: () => unknown): string => {
  try {
    of();
  } catch (error) {
    const { message, status, code } = error as { message: string; status: number; code: string };
    return `${status} ${code} ${message.split(" A queue, pool")[0]}`;
  }
  return "answered";
};
const unknown = (why: string) =>
  `401 invalid_api_key the episode of a request is "unknown"; expected one that runs: ${why}${why.endsWith("?") ? "" : "."}`;

test("a request's own key decides, then the context in which it was made", () => {
  const episodes = new Episodes();
  const [a, b] = [episodes.begin("a", "first question", target), episodes.begin("b", "second question", target)];
  expect(episodes.ownerOf("a", "b", "")).toBe(a);
  expect(episodes.ownerOf("a", undefined, "")).toBe(a);
  expect(episodes.ownerOf("", "b", "")).toBe(b);
  expect(episodes.ownerOf("a client's own", "b", "")).toBe(b);
  expect([episodes.find("a"), episodes.find("c"), episodes.find(undefined)]).toEqual([a, undefined, undefined]);
});

test("what belongs to no episode is refused with the cause, and the episode that it is about is not counted", () => {
  const episodes = new Episodes();
  const [a, b] = [episodes.begin("a", "first question", target), episodes.begin("b", "second question", target)];
  expect(refusal(() => episodes.ownerOf("", undefined, "")).trim()).toBe(unknown("it was made outside of any"));
  expect(refusal(() => episodes.ownerOf("", "gone", '"second question"'))).toBe(
    unknown("it was made in the context of one that has ended"),
  );
  expect([a.fault, b.fault?.status]).toEqual([undefined, 401]);
  episodes.end(a, true);
  // A client that was made once, with the key of an ended episode, is no key of the request's own.
  expect(refusal(() => episodes.ownerOf("a", "b", ""))).toBe(
    unknown("its key is of an episode that has ended: is a client made once, and kept?"),
  );
});

test("one that runs alone owns what has no context, unless another was left behind", () => {
  const episodes = new Episodes();
  const [a, b] = [episodes.begin("a", "first question", target), episodes.begin("b", "second question", target)];
  const settle = episodes.end(a, false);
  expect(refusal(() => episodes.ownerOf("", undefined, ""))).toBe(unknown("it was made outside of any"));
  settle();
  expect(episodes.ownerOf("", undefined, "")).toBe(b);
  expect(episodes.ownerOf("some key", undefined, "")).toBe(b);
  expect(refusal(() => episodes.ownerOf("", "gone", ""))).toBe(unknown("it was made in the context of one that has ended"));
});

test("a request about another's task in the context of an episode is neither's", () => {
  const episodes = new Episodes();
  const [a, b] = [episodes.begin("a", "first question", target), episodes.begin("b", "second question", target)];
  const other = (value: string) =>
    `401 invalid_api_key the episode of a request is "that of another task"; expected one that runs: ${value}.`;
  expect(refusal(() => episodes.ownerOf("", "a", JSON.stringify("about the second question")))).toBe(
    other('a request about "second question" came from the episode of "first question"'),
  );
  expect([a.fault?.message, b.fault?.message]).toEqual([expect.any(String), expect.any(String)]);
  // A key of the request's own is believed.
  expect(episodes.ownerOf("a", "a", JSON.stringify("second question"))).toBe(a);
  expect(refusal(() => episodes.ownerOf("a", "b", JSON.stringify("second question")))).toBe(
    other('a request about "second question" came from the episode of "first question"'),
  );
});

test("a text that names the own task, a part of it, or a short one is the episode's own", () => {
  const episodes = new Episodes();
  const a = episodes.begin("a", "first question, and more", target);
  episodes.begin("b", "first question", target);
  episodes.begin("c", "short 7", target);
  const text = JSON.stringify("first question, and more; short 7");
  expect(episodes.ownerOf("", "a", text)).toBe(a);
  episodes.begin("d", "eight 88", target);
  expect(refusal(() => episodes.ownerOf("", "a", JSON.stringify("eight 88")))).toMatch(/that of another task/);
});

test("the verdict on an episode names what was refused, another server, or silence", () => {
  const episodes = new Episodes();
  const a = episodes.begin("a", "first question", target);
  const text = (...given: Parameters<Episodes["verdict"]> extends [unknown, ...infer Rest] ? Rest : never) =>
    episodes.verdict(a, ...given)?.message;
  expect([text(true, ""), text(false, " A_URL changed"), text(true, " A_URL changed")]).toEqual([
    ...[undefined, undefined, 'an agent\'s requests is "none"; expected at least one. A_URL changed.'],
  ]);
  a.elsewhere.add("http://x").add("http://y");
  expect(text(false, " A_URL changed.")).toBe(
    'an agent\'s model is "http://x, http://y"; expected the one of this run. The agent asked that server instead. Give its client the ' +
      "`baseUrl` and `apiKey` of the agent's second argument. A_URL changed.",
  );
  a.requests++;
  expect(text(true, " A_URL changed")).toBeUndefined();
  expect(refusal(() => episodes.ownerOf("", "gone", '"first question"'))).toContain("unknown");
  expect(text(false, "")).toMatch(/^an agent's request is "refused"\. the episode of a request is "unknown"/);
  // A refusal that no episode could be made out for is that of one without a request.
  const b = episodes.begin("b", "second question", target);
  expect(refusal(() => episodes.ownerOf("", "gone", ""))).toContain("unknown");
  expect(episodes.verdict(b, false, "")?.message).toMatch(/^an agent's request is "refused"/);
  b.requests++;
  expect(episodes.verdict(b, false, "")).toBeUndefined();
});

test("a refusal of an earlier time is no longer one of an episode that begins alone", () => {
  const episodes = new Episodes();
  const a = episodes.begin("a", "first question", target);
  expect(refusal(() => episodes.ownerOf("", "gone", ""))).toContain("unknown");
  episodes.end(a, true);
  const b = episodes.begin("b", "second question", target);
  expect(episodes.verdict(b, false, "")).toBeUndefined();
});

test("of the keys of ended episodes the newest ten thousand are remembered", () => {
  const episodes = new Episodes();
  const alive = episodes.begin("alive", "first question", target);
  for (let i = 0; i <= 10_000; i++) episodes.end(episodes.begin(`k${i}`, "x", target), true);
  expect(refusal(() => episodes.ownerOf("k1", undefined, ""))).toContain("its key is of an episode that has ended");
  expect(episodes.ownerOf("k0", undefined, "")).toBe(alive);
});

test.each([
  [
    { messages: [{ role: "user", content: "a" }, { role: "assistant" }, { role: "user", content: "b" }, { role: "tool" }] },
    '{"role":"user","content":"b"}',
  ],
  [{ input: "a" }, '"a"'],
  [{ input: [{ role: "user", content: "a" }] }, '{"role":"user","content":"a"}'],
  [{ contents: [null, { role: "user" }] }, '{"role":"user"}'],
  [{ contents: [{ role: "model" }] }, ""],
  [{}, ""],
  [undefined, ""],
  [null, ""],
])("the last request of %j", (body, text) => {
  expect(lastRequest(body)).toBe(text);
});
