import { expect, test } from "vitest";
import { systemPrompt } from "./prompt.ts";

const supervisor = { first_name: "Ada", last_name: "Byron", email: "ada@example.org", phone_number: "123" };
const task = { id: "a_1", prompt: "", instruction: "Count.", supervisor };
const documents = [{ app: "spotify", apis: [{ name: "login", description: "Logs in." }] }];

test("the system message, word for word", async () => {
  await expect(systemPrompt(task, documents, { apiDocs: "listed" })).toMatchFileSnapshot("../../test/golden/appworld-prompt.txt");
  const own = systemPrompt(task, documents, { apiDocs: "discover" });
  expect(own).toBe(
    systemPrompt(task, documents, { apiDocs: "listed" }).replace("Their APIs:\nspotify:\n  login: Logs in.\n\n", ""),
  );
});
