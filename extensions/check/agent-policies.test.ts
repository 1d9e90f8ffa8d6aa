import { expect, test } from "vitest";
import type { ConversationRequest } from "../../src/chat/conversation.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { answerFields, callingPolicies, constantPolicies, lazyAnswer, oracleOf, silentPolicies } from "./agent-policies.ts";

const schema = (properties: object) => ({ type: "object", properties }) as Tool["parameters"];
const tool = (name: string, properties: object = { order: { type: "string" } }): Tool => ({
  ...{ name, description: "", parameters: schema(properties), execute: () => "" },
});
const tools = [tool("find"), tool("refund")];
const asked = (more: Partial<ConversationRequest> = {}): ConversationRequest => ({
  ...{ messages: [{ role: "user", content: "Where is B12?" }], tools, ...more },
});
const task = { prompt: "Where is B12?", state: "lost", days: 3 };

test("silent policies say what needs no understanding", () => {
  expect(silentPolicies.map((policy) => lazyAnswer(policy, asked(), task).content)).toEqual([
    ...["", "Done.", "Where is B12?", "Sorry, I cannot."],
  ]);
});

test("each tool is called once with what the prompt names, then all, then some", () => {
  const policies = callingPolicies(["find", "refund"]);
  expect(policies.map(({ name, calls }) => [name, calls])).toEqual([
    ['calls find, says "Done."', true],
    ['calls refund, says "Done."', true],
    ["calls every tool once", true],
    ["calls random tools with random arguments", true],
  ]);
  const [find, , all] = policies;
  const played = (policy = find) => {
    const messages = [...asked().messages];
    const said: string[] = [];
    for (let turn = 0; turn < 3 && policy; turn++) {
      const message = lazyAnswer(policy, asked({ messages }), task);
      const [call] = message.toolCalls ?? [];
      said.push(call === undefined ? message.content : `${call.name} ${JSON.stringify(call.arguments)}`);
      messages.push(message, { role: "tool", name: "x", content: "ok" });
    }
    return said;
  };
  expect(played(find)).toEqual(['find {"order":"B12"}', "Done.", "Done."]);
  expect(played(all)).toEqual(['find {"order":"B12"}', 'refund {"order":"B12"}', "Done."]);
  expect(callingPolicies([])).toEqual([]);
  expect(callingPolicies(["find"]).map(({ name }) => name)).not.toContain("calls every tool once");
  expect(callingPolicies(Array.from({ length: 20 }, (_, i) => `t${i}`))).toHaveLength(12 + 2);
});

test("a random policy ends by itself, and is the same every time", () => {
  const random = callingPolicies(["find"]).at(-1);
  const calls = Array.from({ length: 9 }, () => ({ name: "find", arguments: {} }));
  const after = (count: number) => [
    ...asked().messages,
    { role: "assistant" as const, content: "", toolCalls: calls.slice(0, count) },
  ];
  const answer = (count: number, of = tools) => random && lazyAnswer(random, asked({ messages: after(count), tools: of }), task);
  expect(answer(8)).toEqual({ role: "assistant", content: "Done." });
  expect(answer(0, [])).toEqual({ role: "assistant", content: "Done." });
  expect(answer(2)).toEqual(answer(2));
});

test("fields beside the prompt could be answers: texts and numbers", () => {
  const tasks = [
    { prompt: "a", kind: "k", state: "lost", days: 3, empty: "", list: [1] },
    { prompt: "b", state: "found", days: 3 },
  ];
  expect([...answerFields(tasks)]).toEqual([
    ["state", ["lost", "found"]],
    ["days", ["3", "3"]],
  ]);
  const wide = { prompt: "a", ...Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`f${i}`, i])) };
  expect(answerFields([wide]).size).toBe(6);
  expect(lazyAnswer(oracleOf("days"), asked(), task).content).toBe("3");
  expect(lazyAnswer(oracleOf("none"), asked(), task).content).toBe("");
});

test("constant answers are the values that a tenth of the tasks have, and all values together", () => {
  const states = ["open", "open", "open", "shut", "shut", ...Array.from({ length: 16 }, (_, i) => `s${i}`)];
  const tasks = states.map((state, i) => ({ prompt: `${i}?`, state }));
  // 3 of 21 are a tenth, 2 are not.
  expect(constantPolicies(tasks).map(({ name }) => name)).toEqual(['says "open"', "lists every state of the file"]);
  const [open, every] = constantPolicies(tasks);
  expect(open && lazyAnswer(open, asked(), task).content).toBe("open");
  expect(every && lazyAnswer(every, asked(), task).content).toBe([...new Set(states)].join(", "));
  const long = tasks.map((each) => ({ ...each, state: each.state + "x".repeat(3000) }));
  expect(constantPolicies(long).map(({ name }) => name.slice(0, 10))).toEqual(['says "openx'.slice(0, 10)]); // no list of all
  expect(constantPolicies([{ prompt: "a", state: "x" } as never]).length).toBe(0);
});

test("a call that is required is made, and a form is filled", () => {
  const [silent, done] = silentPolicies;
  if (silent === undefined || done === undefined) throw new Error("none");
  expect(lazyAnswer(done, asked({ toolChoice: "required" }), task).toolCalls?.map(({ name }) => name)).toEqual(["find"]);
  expect(lazyAnswer(done, asked({ toolChoice: { tool: "refund" } }), task).toolCalls?.map(({ name }) => name)).toEqual([
    "refund",
  ]);
  expect(lazyAnswer(done, asked({ form: "json" }), task).content).toBe('{"answer":"Done."}');
  expect(lazyAnswer(silent, asked({ form: "json" }), task).content).toBe("");
  const form = {
    schema: {
      type: "object",
      properties: {
        ...{ note: { type: "string" }, days: { type: "integer" }, share: { type: "number" }, label: { enum: ["open", "3"] } },
        ...{ kind: { type: "string", enum: ["a", "b"] }, size: { type: "integer", enum: [7, 8] }, flag: { type: "boolean" } },
      },
    },
  };
  const filled = (field: "state" | "days") => JSON.parse(lazyAnswer(oracleOf(field), asked({ form }), task).content);
  const guessed = { kind: "a", size: 7, flag: false };
  expect(filled("days")).toEqual({ note: "3", days: 3, share: 3, label: "3", ...guessed });
  expect(filled("state")).toEqual({ note: "lost", days: 12, share: 12, label: "open", ...guessed });
  const bare = JSON.parse(lazyAnswer(done, asked({ form: { schema: { type: "object" } } }), task).content);
  expect(bare).toEqual({});
});
