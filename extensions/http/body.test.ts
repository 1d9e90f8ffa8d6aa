import "../../test/loopback.ts";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { z } from "zod";
import { jsonOfBody, parseBody, readBody } from "./body.ts";

function sent(body: Buffer | string, headers: Record<string, string> = {}): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  Object.assign(message.headers, headers);
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += 4) message.push(bytes.subarray(at, at + 4));
  message.push(null);
  return message;
}

test("a body is read whole up to its limit, and one byte more is too much", async () => {
  expect(String(await readBody(sent("12345678"), 8))).toBe("12345678");
  await expect(readBody(sent("123456789"), 8)).rejects.toMatchObject({
    status: 413,
    message: expect.stringContaining("at most 8 bytes"),
  });
  await expect(readBody(sent("1", { "content-length": "9" }), 8)).rejects.toMatchObject({ status: 413 });
});

test("a compressed body is its text, within the limit too; another compression is refused", async () => {
  const gzip = { "content-encoding": "gzip" };
  expect(String(await readBody(sent(gzipSync("12345678"), gzip), 64))).toBe("12345678");
  await expect(readBody(sent(gzipSync("x".repeat(1000)), gzip), 64)).rejects.toMatchObject({ status: 422 });
  await expect(readBody(sent("no gzip", gzip), 64)).rejects.toMatchObject({ status: 422 });
  await expect(readBody(sent("1", { "content-encoding": "br" }), 64)).rejects.toMatchObject({ status: 422 });
  expect(String(await readBody(sent("1", { "content-encoding": "identity" }), 64))).toBe("1");
});

test("JSON is parsed by a schema, and what is wrong is named by its path", () => {
  const schema = z.object({ a: z.object({ b: z.number() }).optional() });
  expect(parseBody(Buffer.from('{"a":{"b":1}}'), schema)).toEqual({ a: { b: 1 } });
  expect(parseBody(Buffer.alloc(0), schema)).toEqual({});
  expect(() => parseBody(Buffer.from("{"), schema)).toThrow(/body of the request is "malformed"; expected JSON/);
  expect(() => parseBody(Buffer.from('{"a":{"b":"1"}}'), schema)).toThrow(/^a\.b is "not accepted"/);
  expect(() => parseBody(Buffer.from("[]"), schema)).toThrow(/^body of the request is "not accepted"/);
  const body = Buffer.from('{"a":{"b":1}}');
  expect(jsonOfBody(body)).toBe(jsonOfBody(body));
});
