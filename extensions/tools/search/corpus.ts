import { readdir, stat } from "node:fs/promises";
import { basename, extname, join, relative } from "node:path";
import { reasonOf, ToolError } from "../../../src/core/errors.ts";
import { linesOf, readBounded, utf8Of } from "../../../src/files/bounded.ts";
import { openRecords } from "../records.ts";

export interface Document {
  readonly title: string;
  readonly text: string;
  /** Shown with the results; "" where there is none. */
  readonly url: string;
}

/** JavaScript has no longer texts. */
const largestText = 512 * 2 ** 20;
const textEndings = [".txt", ".md", ".markdown"];
/** Names of columns and keys, the first that a record has. Of Wikipedia dumps, FlashRAG, BEIR and MS MARCO. */
const textKeys = ["text", "contents", "content", "body", "passage"];
const titleKeys = ["title", "name", "heading"];
const urlKeys = ["url", "link", "source"];

const recordEndings = /\.(jsonl|jsonl\.gz|parquet)$/;

/**
 * Reads a `.jsonl`, `.jsonl.gz` or `.parquet` file, or a folder of these and of text and Markdown files, and those below it.
 * A record has a text under one of the keys text, contents, content, body or passage, and may have a title and a url.
 * @throws ToolError where there is nothing to read
 */
export async function readCorpus(path: string): Promise<Document[]> {
  const kind = await stat(path).catch((cause: unknown) => {
    throw new ToolError("corpus", path, { expected: "a folder, a .jsonl or a .parquet file", cause });
  });
  const documents = kind.isDirectory() ? await readFolder(path) : await readRecords(path);
  if (documents.length > 0) return documents;
  throw new ToolError("corpus", path, {
    expected: "documents in it",
    hint: `A folder's files end in ${textEndings.join(", ")}, .jsonl, .jsonl.gz or .parquet.`,
  });
}

async function readFolder(folder: string): Promise<Document[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    // The Hub's cache has links to its files.
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => textEndings.includes(extname(path).toLowerCase()) || recordEndings.test(path))
    .sort();
  const documents: Document[] = [];
  for (const path of paths) {
    if (recordEndings.test(path)) {
      for (const document of await readRecords(path)) documents.push(document);
      continue;
    }
    const text = textOf(path);
    const heading = /^#\s+(.+)/m.exec(text)?.[1];
    documents.push({ title: heading ?? basename(path, extname(path)), text, url: relative(folder, path).replaceAll("\\", "/") });
  }
  return documents;
}

function textOf(path: string): string {
  try {
    return utf8Of(readBounded(path, largestText));
  } catch (cause) {
    throw new ToolError("corpus", path, { expected: "a text file", hint: reasonOf(cause), cause });
  }
}

async function readRecords(path: string): Promise<Document[]> {
  if (path.endsWith(".parquet")) {
    const rows = await openRecords(path, [...textKeys, ...titleKeys, ...urlKeys]).read();
    return rows.map(({ value, where }) => documentOf(value, where));
  }
  if (!recordEndings.test(path)) throw new ToolError("corpus", path, { expected: "a folder, a .jsonl or a .parquet file" });
  const documents: Document[] = [];
  let number = 0;
  try {
    for await (const line of linesOf(path)) {
      number++;
      if (line.trim() !== "") documents.push(documentOf(parsed(line, `${path}:${number}`), `${path}:${number}`));
    }
  } catch (cause) {
    if (cause instanceof ToolError) throw cause;
    const expected = path.endsWith(".gz") ? "a gzipped file" : "a file of JSON lines";
    throw new ToolError("corpus", path, { expected, hint: reasonOf(cause), cause });
  }
  return documents;
}

function parsed(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new ToolError(where, line, { expected: "a JSON object", cause });
  }
}

function documentOf(record: unknown, where: string): Document {
  const fields = new Map(Object.entries(record ?? {}));
  const first = (keys: readonly string[]) => keys.map((key) => fields.get(key)).find((value) => typeof value === "string");
  const text = first(textKeys);
  if (text === undefined) throw new ToolError(where, record, { expected: `a text under ${textKeys.join(", ")}` });
  return { title: first(titleKeys) ?? "", text, url: first(urlKeys) ?? "" };
}
