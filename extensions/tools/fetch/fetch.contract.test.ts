import { expect, test } from "vitest";
import { page, read } from "./fetch.fixture.ts";

test("nesting without end is no page, and ends nothing", async () => {
  const { url } = await page(`<p>top</p>${"<div>".repeat(100_000)}deep`);
  expect(await read(url)).toMatch(/^top/);
});
