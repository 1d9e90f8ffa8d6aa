import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { processorMs } from "../../test/slowdown.ts";
import { ModelError } from "../core/errors.ts";
import { makeChat } from "./chat.ts";
import { loadTokenizer } from "./tokenizer-folder.ts";

const times = vi.hoisted(() => ({ opening: 1000, conversation: 1000 }));
const original = await vi.importActual<typeof import("./template.ts")>("./template.ts");
vi.mock(import("./template.ts"), async (actual) => ({ ...(await actual()), templateMs: times as never }));

const office = loadTokenizer(join(import.meta.dirname, "../../models/office"));
const spin = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
const lines = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
const chatOf = (chatTemplate: string) => makeChat({ ...office, chatTemplate }, { tools: "none" });

test("a template that does not end is refused in the time of one opening, however often it is rendered", () => {
  const start = processorMs();
  expect(() => chatOf(`${spin}${lines}`)).toThrow(ModelError);
  expect(() => chatOf(`${spin}${lines}`)).toThrow(/no end within 1000 ms/);
  // It is rendered four times at least, twice here.
  expect(processorMs() - start).toBeLessThan(3 * 2 * times.opening);
});

test("the renderings of a conversation have a time together; another conversation has its own", () => {
  const chat = chatOf(`${lines}{% if 'slow' in messages[0].content and messages|length > 2 %}${spin}{% endif %}`);
  const slow = chat.open([{ role: "user", content: "slow" }], []);
  const said = { role: "assistant", content: "a" } as const;
  const start = processorMs();
  for (let i = 0; i < 20; i++)
    expect(() => chat.extend(slow, [], said, [{ role: "user", content: "b" }])).toThrow(/no end within 1000 ms/);
  expect(processorMs() - start).toBeLessThan(10 * times.conversation);
  expect(chat.open([{ role: "user", content: "Hello" }], []).text).toContain("Hello");
});

test("a long conversation of a template that takes its time comes to an end", () => {
  const work = "{% for a in range(20000) %}{% endfor %}";
  const chat = chatOf(`${lines}{% if 'slow' in messages[0].content %}${work}{% endif %}`);
  let context = chat.open([{ role: "user", content: "slow" }], []);
  const start = processorMs();
  expect(() => {
    for (let i = 0; i < 10_000; i++)
      context = chat.extend(context, [], { role: "assistant", content: "a" }, [{ role: "user", content: `${i}` }]);
  }).toThrow(/no end within 1000 ms/);
  expect(processorMs() - start).toBeLessThan(20 * times.conversation);
});

test("the page has the numbers of the code", () => {
  const { opening, conversation } = original.templateMs;
  const page = readFileSync(join(import.meta.dirname, "../../docs/runs.md"), "utf8").replace(/\s+/g, " ");
  expect(page).toContain(
    `A chat template has ${opening / 1000} s to open a model, and ${conversation / 1000} s for a conversation`,
  );
});
