import { join } from "node:path";
import { expect, test } from "vitest";
import type { Tool } from "../tools/tool.ts";
import { makeChat } from "./chat.ts";
import type { Formed } from "./grammar.ts";
import { loadTokenizer } from "./tokenizer-folder.ts";

const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../../models/office")));
const { tokenizer, grammars } = chat;
const [end] = tokenizer.stopTokens;
const schema = {
  type: "object",
  properties: { title: { type: "string" } },
  required: ["title"],
  additionalProperties: false,
} as const;
const tool = (name: string): Tool => ({ name, description: "", parameters: schema, execute: () => "" });
const tools = [tool("find"), tool("move")];
const call = (name: string, args: object) =>
  chat.calls().write({ role: "assistant", content: "", toolCalls: [{ name, arguments: { ...args } }] });

/** Whether an action may be this text and end there. */
async function fits(form: Formed, text: string): Promise<boolean> {
  const mask = await grammars.mask(form);
  if (mask === undefined) return true;
  try {
    for (const token of [...tokenizer.encode(text), end]) {
      const bits = mask.next();
      if (!((bits[token >> 5] >>> (token & 31)) & 1) && !mask.allows(token)) return false;
      mask.accept(token);
    }
    return true;
  } finally {
    mask.close();
  }
}

const demo = call("find", { title: "Demo" });
const other = call("move", { title: "Demo" });
const wrong = call("find", { nothing: 1 });

test.each<[string, Formed, readonly string[], readonly string[]]>([
  [
    "a schema",
    { form: { schema } },
    ['{"title":"Demo"}', '{"title": "ä"}'],
    ["Demo", '{"title":1}', '{"title":"a","b":1}', "{}"],
  ],
  ["any JSON object", { form: "json" }, ["{}", '{"a":[1,{"b":null}]}'], ["[]", "1", "{} and more"]],
  ["a given tool", { tools, toolChoice: { tool: "find" } }, [demo], [other, "Hello", wrong, ""]],
  ["some tool", { tools, toolChoice: "required" }, [demo, other], ["Hello", wrong]],
  ["one call at most", { tools, parallelCalls: false }, ["Hello", demo], [`${demo}\n${other}`]],
  ["a strict tool", { tools, strictTools: ["find"] }, ["Hello", demo, `${demo}\n${other}`, call("move", { any: 1 })], [wrong]],
  [
    "a schema beside tools",
    { tools, form: { schema } },
    ['{"title":"Demo"}', demo, `${demo}\n${other}`, call("move", { any: 1 })],
    ["Hello", '{"title":1}', "", `Hello ${demo}`],
  ],
  [
    "a schema beside a strict tool, one call at most",
    { tools, form: { schema }, strictTools: ["find"], parallelCalls: false },
    ['{"title":"Demo"}', demo],
    ["Hello", '{"title":1}', wrong, `${demo}\n${other}`],
  ],
  ["a schema beside tools that are not shown", { tools, toolChoice: "none", form: { schema } }, ['{"title":"Demo"}'], [demo]],
])("%s: what may be said", async (_, form, good, bad) => {
  for (const text of good) expect(await fits(form, text), text).toBe(true);
  for (const text of bad) expect(await fits(form, text), text).toBe(false);
});

test("a request that leaves the form to the model has no mask", async () => {
  expect(await grammars.mask({ tools })).toBeUndefined();
  expect(await grammars.mask({ tools: [], toolChoice: "required" })).toBeUndefined();
});

test("a schema without a grammar is refused, and the next one works", async () => {
  await expect(grammars.mask({ form: { schema: { type: "nonsense" } } })).rejects.toThrow(/schema is .*nonsense/);
  expect(await fits({ form: { schema } }, '{"title":"Demo"}')).toBe(true);
});
