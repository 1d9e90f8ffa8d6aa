import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import MiniSearch from "minisearch";
import { expect, test } from "vitest";
import { main } from "../entries/program.ts";
import { architectures } from "../extensions/local/model/architectures.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

test("docs/models.md names every architecture", () => {
  const row = /^\| architectures .*$/m.exec(read("docs/models.md"))?.[0] ?? "";
  expect(Object.keys(architectures).filter((name) => !row.includes(`\`${name}\``))).toEqual([]);
});

test("docs/cli.md has a row for every command", async () => {
  const written: string[] = [];
  const output = { write: (text: string) => written.push(text) };
  await main(["--help"], output, output);
  const help = written.join("");
  const commands = [...help.slice(help.indexOf("Commands:")).matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name);
  expect(commands.length).toBeGreaterThan(19);
  const rows = [...read("docs/cli.md").matchAll(/^\| `([a-z-]+)/gm)].map(([, name]) => name);
  expect(commands.filter((name) => !rows.includes(name))).toEqual([]);
});

/** Anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = page.replace(/```[\s\S]*?```/g, "").matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, text]) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("links between the pages lead to files and headings that exist", () => {
  const pages = ["README.md", "CHANGELOG.md", ...markdownIn("docs")];
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
      .filter(([, file, anchor]) => {
        const target = file === "" ? page : join(dirname(page), file);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && target.endsWith(".md") && !anchorsOf(read(target)).includes(anchor);
      })
      .map(([link]) => `${page} → ${link}`),
  );
  expect(broken).toEqual([]);
});

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** Files of other projects that pages name, and where a user's project has ours. */
const elsewhere = /^(?:docs\/about\/performance-summary\.md|node_modules\/.*)$/;

test("pages and docstrings name files that exist", () => {
  const files = ["src", "extensions", "entries", "test", "docs", "examples", "research", "scripts", "dashboard", "templates"]
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
    );
  const exists = (name: string, from: string) =>
    existsSync(join(root, dirname(from), name)) ||
    files.some((file) => `/${file}`.endsWith(`/${name.replace(/^(?:\.{1,2}\/)+/, "")}`));
  const named = /(?<![\w/.:<>{}*-])(?:\.{0,2}\/)?(?:[\w.-]+\/)+[\w.+-]+\.(?:ts|md|mjs)\b/g;
  const missing = (from: string, text: string) =>
    [...text.replace(/https?:\/\/\S+/g, "").matchAll(named)]
      .map(([name]) => name)
      .filter((name) => !elsewhere.test(name) && !exists(name, from))
      .map((name) => `${from}: ${name}`);
  const pages = ["README.md", "CHANGELOG.md", ...markdownIn("docs")];
  const sources = files.filter(
    (file) => /^(?:src|extensions|entries)\/.*\.ts$/.test(file) && !/\.(?:test|fixture|test-d)\.ts$/.test(file),
  );
  const found = [
    ...pages.flatMap((page) => missing(page, read(page).replace(/```[\s\S]*?```/g, ""))),
    ...sources.flatMap((file) => (read(file).match(/\/\*\*[\s\S]*?\*\//g) ?? []).flatMap((text) => missing(file, text))),
  ];
  expect(found).toEqual([]);
});

/** The sections of all pages, indexed and searched with the settings of the site's search (VitePress, local). */
function siteSearch(): (question: string) => string | undefined {
  const searchOptions = { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } };
  const index = new MiniSearch<{ id: string; title: string; titles: string; text: string }>({
    fields: ["title", "titles", "text"],
    searchOptions,
  });
  for (const page of markdownIn("docs")) {
    const above: string[] = [];
    const sections = read(page)
      .replaceAll(/^```[\s\S]*?^```/gm, "")
      .matchAll(/^(#+) (.*)\n([\s\S]*?)(?=^#+ |$(?![\s\S]))/gm);
    for (const [, { length: depth }, title, text] of sections) {
      above.splice(depth - 1);
      index.add({ id: `${page}#${title}`, title, titles: above.filter(Boolean).join(" "), text });
      above[depth - 1] = title;
    }
  }
  return (question) => index.search(question)[0]?.id as string | undefined;
}

test("the site's search answers what people ask", () => {
  const answers = siteSearch();
  const asked = ["what model", "out of memory", "distill", "Windows", "Next.js", "nothing learns", "train my agent"];
  expect(asked.map((question) => answers(question)?.replace("docs/", ""))).toEqual([
    "models.md#What model to start from",
    "troubleshooting.md#Out of memory, or too slow",
    "agents.md#Distill a strong model: demonstrations from a teacher",
    "troubleshooting.md#Windows, macOS and Linux",
    "agents.md#Next.js, Express and other servers",
    "troubleshooting.md#When nothing learns",
    "agents.md#Train the agent you have",
  ]);
});
