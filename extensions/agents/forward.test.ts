import { expect, test } from "vitest";
import { addressAt } from "./forward.ts";

const server = "https://model.example";

test.each([
  ["/v1/chat/completions?a=b", "/v1/chat/completions?a=b"],
  ["//other.example/v1", "//other.example/v1"],
  ["/\\other.example", "//other.example"],
  ["/v1/../../x", "/x"],
])("%s stays at the server", (path, expected) => {
  const { origin, pathname, search } = addressAt(server, path);
  expect([origin, pathname + search]).toEqual([server, expected]);
});

test.each(["@other.example/v1", "http://other.example/v1", ".other.example/", ":8443/"])("%s is refused", (path) => {
  expect(() => addressAt(server, path)).toThrow(/^the target of the request is ".*"; expected a path that begins with \//);
});
