import { expect, test } from "vitest";
import { withoutCredentials } from "./credentials.ts";
import { redact } from "./redact.ts";

test("a name and password become the header that means the same, and are secrets", () => {
  const basic = Buffer.from("ann:p w%").toString("base64");
  const { url, headers, secrets } = withoutCredentials("https://ann:p%20w%25@host:1/a?b=c#d");
  expect([url.href, headers, secrets]).toEqual(["https://host:1/a?b=c#d", { authorization: `Basic ${basic}` }, ["p w%", basic]]);
  // A sign that encodes nothing is itself.
  expect(withoutCredentials("https://ann:100%25@host").secrets[0]).toBe("100%");
  expect(withoutCredentials("https://ann:%zz@host").secrets[0]).toBe("%zz");
});

test("a name alone is sent, and no password hidden; without both nothing is", () => {
  const basic = Buffer.from("ann:").toString("base64");
  expect(withoutCredentials("http://ann@host")).toMatchObject({ headers: { authorization: `Basic ${basic}` }, secrets: [basic] });
  expect(withoutCredentials("http://host/x")).toMatchObject({ headers: {}, secrets: [] });
});

test("a secret is hidden as it is, as an address has it and as JSON has it", () => {
  const secret = 'a "b"/c';
  expect(redact(`${secret} ${encodeURIComponent(secret)} ${JSON.stringify({ secret })}`, [secret, ""])).toBe(
    '[key] [key] {"secret":"[key]"}',
  );
  expect(redact("nothing", [])).toBe("nothing");
});
