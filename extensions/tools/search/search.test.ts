import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { parquetWriteFile } from "hyparquet-writer";
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/errors.ts";
import { readCorpus } from "./corpus.ts";
import { localSearch, passagesOf, readLocalSearch } from "./local.ts";
import type { SearchProvider } from "./provider.ts";
import { searchTool } from "./search.ts";

const folder = () => mkdtempSync(join(tmpdir(), "retrograde-search-"));
const signal = new AbortController().signal;
const many = { count: 10 };

const corpus = [
  { title: "Otters", text: "The otter lives at the river.\n\nIt eats fish.", url: "otters.md" },
  { title: "Rivers", text: "A river runs to the sea. The Elbe is a river, and so is the Oder.", url: "" },
  { title: "Bread", text: "Flour, water, salt.", url: "" },
];

test("the local index finds by words of text and title, the best first", async () => {
  const search = localSearch(corpus);
  expect((await search.search("river otter", many)).map(({ title }) => title)).toEqual(["Otters", "Rivers"]);
  expect((await search.search("Elbe", many))[0]).toEqual({ ...corpus[1], text: undefined, snippet: corpus[1].text });
  expect(await search.search("river", { count: 1 })).toHaveLength(1);
  expect(await search.search("quantum", many)).toEqual([]);
  expect(await search.search('"', many)).toEqual([]);
});

test("words are found beside tabs and signs, and however they are encoded", async () => {
  const text = "one\ttwo `code` |cell| <b>bold</b> Cafe\u0301 Ｃ３ a_b";
  const search = localSearch([{ title: "", text, url: "" }]);
  for (const query of ["two", "code", "cell", "bold", "café", "CAFE\u0301", "c3", "Ｃ３", "b"])
    expect(await search.search(query, many), query).toHaveLength(1);
  expect(await search.search("cafe", many)).toEqual([]);
});

test("a result is the best passage of a document, once", async () => {
  const filler = "Nothing to see in this paragraph, which goes on about the weather. ".repeat(12);
  const text = `The needle stands first.\n\n${filler}\n\n${filler}\n\nHere a needle, there a needle, needle.`;
  const found = await localSearch([{ title: "Hay", text, url: "" }]).search("needle", many);
  expect(found).toHaveLength(1);
  expect(found[0].snippet).toMatch(/Here a needle, there a needle, needle\.$/);
  expect(found[0].snippet).not.toMatch(/first/);
});

test("passages lose no word and are not too long", () => {
  const paragraph = fc.array(fc.stringMatching(/^[a-z]{1,20}$/), { maxLength: 300 }).map((words) => words.join(" "));
  fc.assert(
    fc.property(fc.array(paragraph, { maxLength: 6 }), (paragraphs) => {
      const text = paragraphs.join("\n\n");
      const passages = passagesOf(text);
      expect(passages.join(" ").split(/\s+/)).toEqual(text.trim().split(/\s+/));
      for (const passage of passages) expect(passage.length).toBeLessThanOrEqual(1000);
    }),
  );
  expect(passagesOf(" one\n \t\ntwo\n\n\n\n three\nfour ")).toEqual(["one\n\ntwo\n\nthree\nfour"]);
  expect(passagesOf("")).toEqual([]);
  expect(passagesOf("x".repeat(2500)).map(({ length }) => length)).toEqual([1000, 1000, 500]);
  expect(
    passagesOf(`x${"🙂".repeat(800)}`).map((passage) => [passage.length, Buffer.from(passage).toString() === passage]),
  ).toEqual([
    [999, true],
    [602, true],
  ]);
});

test("a corpus is a folder, or records as JSON lines", async () => {
  const at = folder();
  mkdirSync(join(at, "sub"));
  writeFileSync(join(at, "a.md"), "intro\n# The title\ntext");
  writeFileSync(join(at, "sub/b.txt"), "b");
  writeFileSync(join(at, "c.png"), "x");
  expect(await readCorpus(at)).toEqual([
    { title: "The title", text: "intro\n# The title\ntext", url: "a.md" },
    { title: "b", text: "b", url: "sub/b.txt" },
  ]);
  const records = '{"id": 1, "contents": "one", "title": "T"}\n\n{"text": "two", "url": "http://u"}\n';
  const expected = [
    { title: "T", text: "one", url: "" },
    { title: "", text: "two", url: "http://u" },
  ];
  writeFileSync(join(at, "c.jsonl"), records);
  writeFileSync(join(at, "c.jsonl.gz"), gzipSync(records));
  expect(await readCorpus(join(at, "c.jsonl"))).toEqual(expected);
  expect(await readCorpus(join(at, "c.jsonl.gz"))).toEqual(expected);
  expect((await (await readLocalSearch(join(at, "c.jsonl"))).search("two", many))[0].url).toBe("http://u");
});

test("a folder's records are read with its texts, also through links", async () => {
  const [at, blobs] = [folder(), folder()];
  writeFileSync(join(at, "README.md"), "\uFEFF# About\n");
  writeFileSync(join(blobs, "1"), '\uFEFF{"text": "one"}\r\n{"text": "two"}\r\n');
  mkdirSync(join(at, "data"));
  symlinkSync(join(blobs, "1"), join(at, "data/train.jsonl"));
  expect((await readCorpus(at)).map(({ title, text }) => [title, text])).toEqual([
    ["About", "# About\n"],
    ["", "one"],
    ["", "two"],
  ]);
});

test("a text that is not UTF-8 is refused by its line, not read without its letters", async () => {
  const path = join(folder(), "a.jsonl");
  const latin1 = Buffer.from('{"text": "x"}\n{"text": "Köln"}\n', "latin1");
  writeFileSync(path, latin1);
  await expect(readCorpus(path)).rejects.toThrow(/a\.jsonl"; expected a file of JSON lines\. line 2 is not UTF-8/);
  writeFileSync(`${path}.gz`, gzipSync(latin1));
  await expect(readCorpus(`${path}.gz`)).rejects.toThrow(/line 2 is not UTF-8/);
  const at = folder();
  writeFileSync(join(at, "k.txt"), latin1);
  await expect(readCorpus(at)).rejects.toThrow(/k\.txt"; expected a text file. line 2 is not UTF-8/);
});

test("a corpus is a Parquet file", async () => {
  const path = join(folder(), "c.parquet");
  const columnData = [
    { name: "id", data: [1, 2] },
    { name: "title", data: ["Otters", "Bread"] },
    { name: "text", data: ["The otter lives at the river.", "Flour, water, salt."] },
  ];
  parquetWriteFile({ filename: path, columnData });
  expect(await readCorpus(path)).toEqual([
    { title: "Otters", text: "The otter lives at the river.", url: "" },
    { title: "Bread", text: "Flour, water, salt.", url: "" },
  ]);
  const bytes = [Buffer.from("é"), Buffer.from("é", "latin1")];
  parquetWriteFile({ filename: path, columnData: [{ name: "body", data: bytes, type: "BYTE_ARRAY" }] });
  await expect(readCorpus(path)).rejects.toThrow(/row 1 is .*expected a text/);
  for (const name of ["text", "number"]) {
    parquetWriteFile({ filename: path, columnData: [{ name, data: [1n] }] });
    await expect(readCorpus(path)).rejects.toThrow(/row 0 is .*expected a text/);
  }
  writeFileSync(path, "PAR1 it is not");
  await expect(readCorpus(path)).rejects.toThrow(/expected a Parquet file/);
});

test("a corpus that cannot be read says what is wrong with it", async () => {
  const at = folder();
  await expect(readCorpus(join(at, "none"))).rejects.toThrow(ToolError);
  await expect(readCorpus(at)).rejects.toThrow(/expected documents in it.*\.md/);
  writeFileSync(join(at, "x.csv"), "a,b");
  await expect(readCorpus(join(at, "x.csv"))).rejects.toThrow(/expected a folder/);
  writeFileSync(join(at, "bad.jsonl"), '{"text": "a"}\n{"text"');
  await expect(readCorpus(join(at, "bad.jsonl"))).rejects.toThrow(/bad\.jsonl:2 is .*expected a JSON object/);
  writeFileSync(join(at, "empty.jsonl"), '{"t": "a"}\n');
  await expect(readCorpus(join(at, "empty.jsonl"))).rejects.toThrow(/empty\.jsonl:1 .*expected a text under text, contents/);
  writeFileSync(join(at, "bad.jsonl.gz"), "not zipped");
  await expect(readCorpus(join(at, "bad.jsonl.gz"))).rejects.toThrow(/expected a gzipped file/);
});

test("the tool shows a page for each result", async () => {
  const ask = (provider: SearchProvider, options = {}) => searchTool(provider, options).execute({ query: "river" }, { signal });
  expect(await ask(localSearch(corpus))).toBe(
    "Page 1: Rivers\nA river runs to the sea. The Elbe is a river, and so is the Oder.\n" +
      "Page 2: Otters (otters.md)\nThe otter lives at the river.\n\nIt eats fish.",
  );
  expect(await ask(localSearch(corpus), { count: 1, maxSnippet: 7 })).toBe(
    "Page 1: Rivers\nA river\n[cut: the first 7 of 65 characters]",
  );
  expect(await ask(localSearch([]))).toBe("No search results found.");
});
