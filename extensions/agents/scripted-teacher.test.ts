import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { sha256 } from "../../src/files/code-digests.ts";
import { askedTeacher, type TeacherRequest } from "./scripted-teacher.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-teacher-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const body: TeacherRequest = { messages: [{ role: "user", content: "When?" }], tools: [{ name: "find" }], seed: 3 };
const { signal } = new AbortController();
const answer = async (said: unknown) => (await askedTeacher(() => said)).ask(body, signal);

test("a teacher at an address is known by its name and address without its key, and OpenAI's by its limit's name", async () => {
  const teacher = await askedTeacher({ name: "big", baseUrl: "https://me:secret@host.example/v1", apiKey: "k" });
  expect(teacher).toMatchObject({
    identity: "big at https://[key]@host.example/v1",
    name: "big",
    apiKey: "k",
    limitField: "max_tokens",
  });
  const openai = await askedTeacher({ name: "gpt", baseUrl: "https://api.openai.com/v1", apiKey: "k" });
  expect(openai.limitField).toBe("max_completion_tokens");
});

test("a script is known by the digest of its code, a module by that of its file and its name", async () => {
  const script = () => ({ content: "x" });
  const own = await askedTeacher(script);
  expect(own).toMatchObject({
    ...{ identity: `a scripted teacher, SHA-256 ${sha256(String(script)).slice(0, 16)}`, name: "a scripted teacher" },
    ...{ apiKey: "", limitField: "max_tokens" },
  });
  const text = "export default ({ messages }) => ({ content: messages[0].content });\n";
  const module = await askedTeacher(file("expert.mjs", text));
  expect([module.identity, module.name]).toEqual([`expert.mjs, SHA-256 ${sha256(text).slice(0, 16)}`, "expert.mjs"]);
  expect((await module.ask(body, signal)).content).toBe("When?");
  const wrong = file("wrong.mjs", "export default 7;\n");
  await expect(askedTeacher(wrong)).rejects.toThrow(
    `the teacher is "${wrong}"; expected NAME@ADDRESS, or a module whose default export is ({ messages, tools }) => the assistant's message.`,
  );
});

test("a script's message is an answer without tokens, its calls' arguments as objects or as text", async () => {
  expect(await answer({ content: "Yes.", reasoning_content: "Hm." })).toMatchObject({
    ...{ content: "Yes.", reasoning: "Hm.", calls: [], finish: "stop", usage: { promptTokens: 0, completionTokens: 0 } },
  });
  const call = (args: unknown) => ({ function: { name: "find", arguments: args } });
  expect((await answer({ tool_calls: [call({ of: 1 }), call("{ }")] })).calls).toMatchObject([
    { name: "find", arguments: '{"of":1}' },
    { name: "find", arguments: "{ }" },
  ]);
});

const expected = "expected the assistant's message: { content }, or { tool_calls: [{ function: { name, arguments } }] }";
test.each<[unknown, string]>([
  [{ content: " \n" }, `the answer of a scripted teacher is "nothing said and nothing called"; ${expected}.`],
  [{}, `the answer of a scripted teacher is "nothing said and nothing called"; ${expected}.`],
  [undefined, "the answer of a scripted teacher is"],
  [{ content: 7 }, "the answer of a scripted teacher is"],
])("the message %j is no answer", async (said, text) => {
  const error = await answer(said).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ failure: "refused" });
  expect(String((error as Error).message)).toContain(text);
});

test("a script cannot change the request, and gets all of it", async () => {
  let given: TeacherRequest | undefined;
  const teacher = await askedTeacher((request) => {
    given = structuredClone(request);
    (request.messages as unknown[]).push("x");
    return { content: "a" };
  });
  await teacher.ask(body, signal);
  expect([given, body.messages.length]).toEqual([body, 1]);
});

test("an error of a script names it, and its place in a module", async () => {
  const failing = await askedTeacher(() => {
    throw new Error("no shelf");
  });
  const error = await failing.ask(body, signal).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ failure: "refused" });
  expect(String(error)).toBe(
    'CompletionError: the error of a scripted teacher is "no shelf"; expected an answer to every request of the agent.',
  );
  const path = file("failing.mjs", 'export default () => {\n  throw new Error("no shelf");\n};\n');
  const module = await askedTeacher(path);
  await expect(module.ask(body, signal)).rejects.toThrow(
    /^the error of failing\.mjs is "no shelf"; expected an answer to every request of the agent\. It was raised at failing\.mjs:2:\d+\.$/,
  );
  const odd = await askedTeacher(() => Promise.reject("a word"));
  await expect(odd.ask(body, signal)).rejects.toThrow(/^the error of a scripted teacher is "a word"/);
});

test("a script that is no longer waited for is left", async () => {
  const gone = new AbortController();
  const teacher = await askedTeacher(() => new Promise(() => {}));
  const waiting = teacher.ask(body, gone.signal);
  gone.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
});
