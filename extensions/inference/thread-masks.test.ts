import { join } from "node:path";
import { expect, test } from "vitest";
import { makeChat } from "../../src/chat/chat.ts";
import type { Formed, GrammarMask } from "../../src/chat/grammar.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { ThreadMasks } from "./thread-masks.ts";

const folder = join(import.meta.dirname, "../../models/office");
const chat = makeChat(loadTokenizer(folder));
const masks = new ThreadMasks(folder, chat.tokenizer.size);
const formOf = (...names: string[]): Formed => ({
  form: {
    schema: { type: "object", properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])), required: names },
  },
});
const mask = async (form: Formed, from: Pick<typeof masks, "mask"> = masks) => (await from.mask(form)) as GrammarMask;

test("masks of a thread are those of a grammar here, token by token", async () => {
  const [there, here] = [await mask(formOf("title")), await mask(formOf("title"), chat.grammars)];
  for (let draw = 0; draw < 2; draw++) {
    for (const token of chat.tokenizer.encode('{"title": "Demo"}')) {
      expect(there.next()).toEqual(here.next());
      expect(there.allows(token)).toBe(true);
      there.accept(token);
      here.accept(token);
    }
    expect(there.allows(chat.tokenizer.encode("x")[0] ?? 0)).toBe(false);
    there.restart();
    here.restart();
  }
  there.accept(chat.tokenizer.encode("x")[0] ?? 0);
  expect(() => there.next()).toThrow("grammar");
  there.close();
  expect(await masks.mask({ tools: [] })).toBeUndefined();
  await expect(masks.mask({ form: { schema: { type: "nonsense" } } })).rejects.toThrow(/schema is .*nonsense/);
});

test("a mask of one form is asked for while the grammar of another is compiled", async () => {
  const short = await mask(formOf("a"));
  let isCompiled = false;
  const long = mask(formOf(...Array.from({ length: 150 }, (_, i) => `property_${i}`))).then((made) => {
    isCompiled = true;
    made.close();
  });
  let parsed = 0;
  while (!isCompiled && parsed < 20) {
    short.next();
    parsed++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(isCompiled).toBe(false);
  short.close();
  await long;
});

test("more forms at a time than there are threads are refused, and then answered", async () => {
  const open = await Promise.all(["a", "b", "c", "d"].map((name) => mask(formOf(name))));
  const again = await mask(formOf("a"));
  expect(await masks.mask(formOf("e")).catch((error: unknown) => error)).toMatchObject({ status: 429, retryAfter: 1 });
  for (const each of [again, ...open]) each.close();
  (await mask(formOf("e"))).close();
});
