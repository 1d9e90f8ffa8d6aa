import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/errors.ts";
import { isPublicAddress, type Resolve } from "./addresses.ts";
import { createPageReader, fetchTool } from "./fetch.ts";
import "../../../test/loopback.ts";
import { bytes, page, read, refusal, serve } from "./fetch.fixture.ts";

test("HTML becomes what a reader sees", async () => {
  const { url } = await page(
    "<html><head><title>A &amp; B</title><style>p {}</style><script>alert(1)</script></head><body><h1>Head</h1>" +
      '<p>One <a href="http://x">link</a>,\n <b>two</b>.</p><img src="x.png" alt="picture"><ul><li>a</li><li>b</li></ul>' +
      "<table><tr><th>Year</th><th>Town</th></tr><tr><td>1990</td><td>Ulm</td></tr></table></body></html>",
  );
  expect(await read(url)).toBe("A & B\n\nHead\n\nOne link, two.\n\n * a\n * b\n\nYear   Town\n1990   Ulm");
});

test("other text is left as it is, and a page that does not say what it is is looked at", async () => {
  expect(await read((await page("<b>x</b>", "text/plain")).url)).toBe("<b>x</b>");
  expect(await read((await page("<html><b>x</b>", "text/plain")).url)).toBe("<html><b>x</b>");
  expect(await read((await page('{"a":1}', "application/json; charset=utf-8")).url)).toBe('{"a":1}');
  expect(await read((await page("<!DOCTYPE html><p>x</p>", "")).url)).toBe("x");
  expect(await read((await page("a < b", "")).url)).toBe("a < b");
  expect(await read((await page("", "text/html")).url)).toBe("");
});

test.each([
  ["header", "text/plain; charset=gbk", bytes(0xc4, 0xe3, 0xba, 0xc3), "你好"],
  ["quoted header", 'text/plain; Charset="Shift_JIS"', bytes(0x93, 0xfa, 0x96, 0x7b), "日本"],
  ["meta", "text/html", Buffer.from('<meta charset="windows-1252"><p>caf\xe9</p>', "latin1"), "café"],
  [
    "http-equiv",
    "text/html",
    Buffer.from('<meta http-equiv=x content="text/html; charset=iso-8859-2"><p>\xb3</p>', "latin1"),
    "ł",
  ],
  [
    "XML declaration",
    "application/xml",
    Buffer.from('<?xml version="1.0" encoding="latin1"?>\xe9', "latin1"),
    '<?xml version="1.0" encoding="latin1"?>é',
  ],
  ["byte order mark", "text/plain; charset=latin1", bytes(0xff, 0xfe, 0x61, 0, 0x62, 0), "ab"],
  ["nothing", "text/plain", Buffer.from("é😀"), "é😀"],
  ["an unknown name", "text/plain; charset=martian", Buffer.from("é"), "é"],
  ["a wrong name", "text/plain; charset=utf-8", bytes(0x61, 0xff, 0x62), "a\ufffdb"],
])("the encoding is taken from: %s", async (_, contentType, body, expected) => {
  expect(await read((await page(body, contentType)).url)).toBe(expected);
});

test("what is no text is refused in words", async () => {
  const problem = /expected a page of text\. Other kinds of files cannot be read/;
  await expect(read((await page("%PDF", "application/pdf")).url)).rejects.toThrow(
    /^fetch is "application\/pdf"; expected a page of text/,
  );
  await expect(read((await page("x", "image/svg+xml")).url)).rejects.toThrow(problem);
  await expect(read((await page(bytes(1, 0, 2, 0), "text/plain")).url)).rejects.toThrow(problem);
  await expect(read((await page(bytes(0x7f, 0x45, 0, 1), "")).url)).rejects.toThrow(problem);
});

test("packed pages are unpacked, and a small one that unpacks to a huge one is not", async () => {
  for (const [encoding, pack] of [
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
  ] as const) {
    expect(await read((await page(pack("hello"), "text/plain", { "content-encoding": encoding })).url)).toBe("hello");
  }
  const bomb = gzipSync(Buffer.alloc(50 * 2 ** 20, "x"));
  const { url } = await page(bomb, "text/plain", { "content-encoding": "gzip" });
  expect(await read(url, { maxBytes: 1000 })).toBe(`${"x".repeat(1000)}\n[cut: the page has more than 1000 bytes]`);
  await expect(read((await page("x", "text/plain", { "content-encoding": "zip" })).url)).rejects.toThrow(/packed with gzip/);
  await expect(read((await page("x", "text/plain", { "content-encoding": "gzip" })).url)).rejects.toThrow(/can be read/);
});

test("long pages are cut, endless ones too", async () => {
  expect(await read((await page("0123456789", "text/plain")).url, { maxText: 4 })).toBe(
    "0123\n[cut: the first 4 of 10 characters]",
  );
  const { url } = await serve((_, response) => {
    const more = () => {
      while (response.write("x".repeat(10_000))) {}
    };
    response.writeHead(200, { "content-type": "text/plain" }).on("drain", more);
    more();
  });
  expect(await read(url, { maxBytes: 20_000, maxText: 50_000 })).toMatch(
    /^x{20000}\n\[cut: the page has more than 20000 bytes\]$/,
  );
});

test.each([
  ["opening tags without end", "<title".repeat(20_000)],
  ["tables in tables", "<table><tr><td>".repeat(9000)],
  [
    "a cell over a million rows and columns",
    "<table><tr><td rowspan=1000000 colspan=1000000>x</td></tr><tr><td>y</td></tr></table>",
  ],
  ["lists in lists", "<ul><li>".repeat(16_000)],
  ["quotes in quotes", "<blockquote>".repeat(10_000)],
])("HTML that is made to take time or memory ends one call, in words or with its text: %s", async (_, body) => {
  const outcome = await read((await page(`<html>${body}`)).url, { timeoutMs: 5000 }).then(
    () => "read",
    (error: unknown) => (error instanceof ToolError ? error.message : String(error)),
  );
  expect(outcome).toMatch(/^read$|^fetch is "HTML that cannot be read"; expected|expected a page that comes within 5000 ms/);
  expect(await read((await page("<p>next</p>")).url)).toBe("next");
});

test("a server that hangs, breaks off or refuses is reported in words", async () => {
  const silent = await serve(() => {});
  await expect(read(silent.url, { timeoutMs: 50 })).rejects.toThrow(/expected a page that comes within 50 ms/);
  const slow = await serve((_, response) => void response.writeHead(200, { "content-type": "text/plain" }).write("a"));
  await expect(read(slow.url, { timeoutMs: 50 })).rejects.toThrow(/within 50 ms/);
  const broken = await serve((_, response) => {
    response.writeHead(200, { "content-type": "text/plain", "content-length": 100 }).write("a");
    setTimeout(() => response.destroy(), 10);
  });
  await expect(read(broken.url)).rejects.toThrow(/can be read/);
  const gone = await serve((_, response) => response.writeHead(404).end());
  await expect(read(gone.url)).rejects.toThrow(/The server answered 404/);
  await expect(read("http://127.0.0.1:1/")).rejects.toThrow(/ECONNREFUSED/);
  const controller = new AbortController();
  const pending = createPageReader({ allowLoopback: true })(silent.url, controller.signal);
  setTimeout(() => controller.abort(new Error("cancelled")), 10);
  await expect(pending).rejects.toThrow("cancelled");
});

test("redirects are followed, a few", async () => {
  const server = await serve((request, response) => {
    if (request.url === "/") response.writeHead(302, { location: "/next?a=b" }).end();
    else if (request.url === "/loop") response.writeHead(301, { location: "/loop" }).end();
    else response.writeHead(200, { "content-type": "text/plain" }).end("here");
  });
  expect(await read(server.url)).toBe("here");
  expect(server.paths).toEqual(["/", "/next?a=b"]);
  await expect(read(`${server.url}loop`, { maxRedirects: 2 })).rejects.toThrow(/at most 2 redirects/);
});

test.each([
  ...["127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1"],
  ...[
    "255.255.255.255",
    "192.0.2.1",
    "198.18.0.1",
    "240.0.0.1",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fd12::1",
    "ff02::1",
    "2001:db8::1",
  ],
  ...[
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:0:1::",
    "::127.0.0.1",
    "nonsense",
  ],
])("%s is not an address of the public internet", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test("public addresses are", () => {
  for (const address of ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1"])
    expect(isPublicAddress(address)).toBe(true);
});

test("addresses of this machine and of private networks are refused in every spelling", async () => {
  const server = await serve((_, response) => response.end("secret"));
  const hosts = [
    "127.0.0.1",
    "localhost",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
  ];
  for (const host of hosts) await expect(createPageReader()(`http://${host}:${server.port}/`)).rejects.toThrow(refusal);
  await expect(createPageReader()("http://169.254.169.254/latest/meta-data/")).rejects.toThrow(refusal);
  // Loopback allowed is not private networks allowed.
  await expect(read("http://10.0.0.1/")).rejects.toThrow(refusal);
  expect(server.paths).toEqual([]);
});

test("names that lead to private addresses are refused, whatever else they lead to", async () => {
  const server = await serve((_, response) => response.end("secret"));
  const resolve: Resolve = async (name) =>
    name === "both.example"
      ? [
          { address: "93.184.216.34", family: 4 },
          { address: "127.0.0.1", family: 4 },
        ]
      : [{ address: "127.0.0.1", family: 4 }];
  for (const name of ["both.example", "inside.example"]) {
    await expect(createPageReader({}, resolve)(`http://${name}:${server.port}/`)).rejects.toThrow(refusal);
  }
  await expect(createPageReader({}, async () => [])("http://nowhere.example/")).rejects.toThrow(/a host that has an address/);
  const missing: Resolve = async () => {
    throw new Error("ENOTFOUND");
  };
  await expect(createPageReader({}, missing)("http://nowhere.example/")).rejects.toThrow(/a host that exists/);
  expect(server.paths).toEqual([]);
});

test("a name is looked up once, and the connection goes to the address that was checked", async () => {
  const server = await serve((request, response) => response.end(`host ${request.headers.host}`));
  const answers = ["127.0.0.1", "10.0.0.1"];
  let asked = 0;
  const resolve: Resolve = async () => [{ address: answers[asked++], family: 4 }];
  const reader = createPageReader({ allowLoopback: true }, resolve);
  expect(await reader(`http://name.example:${server.port}/`)).toBe(`host name.example:${server.port}`);
  expect(asked).toBe(1);
  await expect(reader(`http://name.example:${server.port}/`)).rejects.toThrow(refusal);
});

test("a redirect leads neither inside nor to another kind of address", async () => {
  for (const [location, problem] of [
    ["http://10.0.0.1/", refusal],
    ["http://169.254.169.254/latest", refusal],
    ["http://inside.example/", refusal],
    ["file:///etc/passwd", /begins with http/],
    ["ftp://example.com/", /begins with http/],
  ] as const) {
    const server = await serve((_, response) => response.writeHead(302, { location }).end());
    const resolve: Resolve = async () => [{ address: "192.168.1.1", family: 4 }];
    await expect(createPageReader({ allowLoopback: true }, resolve)(server.url)).rejects.toThrow(problem);
  }
});

test("the tool takes an address, and says what is wrong with one", async () => {
  const { signal } = new AbortController();
  const tool = fetchTool({ allowLoopback: true });
  expect(await tool.execute({ url: (await page("<p>x</p>")).url }, { signal })).toBe("x");
  for (const url of ["no address", "file:///etc/passwd", "data:text/plain,x", "javascript:1", ""]) {
    await expect(tool.execute({ url }, { signal })).rejects.toThrow(ToolError);
    await expect(tool.execute({ url }, { signal })).rejects.toThrow(/begins with http/);
  }
});

test("a page is asked for by name, unshared, in packings that are read", async () => {
  const headers: unknown[] = [];
  const { url } = await serve((request, response) => {
    headers.push(request.headers);
    response.writeHead(200, { "content-type": "text/plain", "content-encoding": "x-gzip" }).end(gzipSync("a"));
  });
  expect([await read(url), await read(url)]).toEqual(["a", "a"]);
  expect(headers[1]).toMatchObject({
    ...{ "user-agent": "retrograde-rl", "accept-encoding": "gzip, deflate, br", connection: "close" },
    accept: "text/html, text/*;q=0.9, */*;q=0.5",
  });
});

test.each([
  ["text/csv", true],
  ["TEXT/PLAIN ; charset=utf-8", true],
  ["application/xhtml+xml", true],
  ["application/ld+json", true],
  ["application/atom+xml", true],
  ["application/x-ndjson", true],
  ["application/yaml", true],
  ["application/jsonp", false],
  ["application/octet-stream", false],
  ["image/png", false],
  ["image/svg+xml", false],
])("%s is text: %s", async (type, isText) => {
  const asked = read((await page("<p>x</p>", type)).url);
  if (isText) expect(await asked).toMatch(/x/);
  else await expect(asked).rejects.toThrow(/expected a page of text/);
});

test.each([
  ["UTF-8", bytes(0xef, 0xbb, 0xbf, 0xc3, 0xa9), "é"],
  ["UTF-16, high byte first", bytes(0xfe, 0xff, 0, 0x61, 0x20, 0xac), "a€"],
  ["UTF-16, low byte first", bytes(0xff, 0xfe, 0x61, 0, 0xac, 0x20), "a€"],
  ["none", bytes(0xef, 0xbb, 0x61), "\ufffda"],
])("a byte order mark of %s decides", async (_, body, text) => {
  expect(await read((await page(body, "text/plain; charset=utf-8")).url)).toBe(text);
});

test.each([
  [bytes(0x61, 0xbb, 0xbf), "a»¿"],
  [bytes(0xef, 0x61, 0xbf), "ïa¿"],
  [bytes(0xef, 0xbb, 0x61), "ï»a"],
  [bytes(0x61, 0xfe), "aþ"],
  [bytes(0xff, 0x61), "ÿa"],
  [bytes(0x61, 0xff), "aÿ"],
  [bytes(0xfe, 0x61), "þa"],
])("half of a byte order mark is none: %j is %s", async (body, text) => {
  expect(await read((await page(body, "text/plain; charset=windows-1252")).url)).toBe(text);
});

test("a page as long as the limit is whole, and as many redirections as allowed are followed", async () => {
  expect(await read((await page("0123", "text/plain")).url, { maxBytes: 4 })).toBe("0123");
  expect(await read((await page("01234", "text/plain")).url, { maxBytes: 4 })).toBe(
    "0123\n[cut: the page has more than 4 bytes]",
  );
  const { url } = await serve((request, response) => {
    const left = Number(request.url?.slice(1));
    if (left > 0) response.writeHead(303, { location: `/${left - 1}` }).end();
    else response.writeHead(200, { "content-type": "text/plain" }).end("here");
  });
  expect([await read(`${url}2`, { maxRedirects: 2 }), await read(`${url}0`, { maxRedirects: 0 })]).toEqual(["here", "here"]);
  for (const status of [300, 304, 400, 503]) {
    const other = await serve((_, response) => response.writeHead(status).end());
    await expect(read(other.url)).rejects.toThrow(`The server answered ${status}.`);
  }
  for (const status of [201, 299]) {
    const other = await serve((_, response) => response.writeHead(status, { "content-type": "text/plain" }).end("x"));
    expect(await read(other.url)).toBe("x");
  }
});

test("the tool waits a second longer than its reader, whose message is the one that is read", () => {
  expect(fetchTool({ timeoutMs: 5000 })).toMatchObject({ name: "fetch", timeoutMs: 6000, idempotent: true });
  expect(fetchTool()).toMatchObject({ timeoutMs: 21_000, maxOutput: Number.POSITIVE_INFINITY });
  expect(() => fetchTool({ maxText: 0 })).toThrow(/fetch\.maxText/);
});
