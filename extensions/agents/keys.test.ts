import "../../test/loopback.ts";
import { expect, test } from "vitest";
import { newKey, serveByKey } from "./keys.ts";
import { messageModel, wholeReply } from "./teacher.ts";

test("a key is one that nobody guesses, and reaches its own model alone", async () => {
  const [one, other] = [newKey(), newKey()];
  // 24 random bytes.
  expect(one).toMatch(/^sk-[\w-]{32}$/);
  expect(other).not.toBe(one);
  const says = (content: string) => messageModel(async () => wholeReply({ role: "assistant", content }), undefined);
  const byKey = new Map([[one, says("one")]]);
  const server = await serveByKey(byKey);
  expect(server.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const ask = async (key: string, content = "?") => {
    const headers = { authorization: `Bearer ${key}` };
    const body = JSON.stringify({ model: "any", messages: [{ role: "user", content }] });
    const response = await fetch(`${server.baseUrl}/v1/chat/completions`, { method: "POST", headers, body });
    const json = JSON.parse(await response.text());
    return response.ok ? json.choices[0].message.content : response.status;
  };
  expect([await ask(one), await ask(other), await ask("")]).toEqual(["one", 401, 401]);
  byKey.set(other, says("other"));
  // A conversation with pictures as text may be longer than other servers take.
  expect([await ask(other), await ask(other, "x".repeat(17 * 2 ** 20))]).toEqual(["other", "other"]);
  await server.close();
});
