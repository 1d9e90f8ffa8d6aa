import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "..");

/** The index is the menu: a heading of docs/README.md is a group, a link an entry. */
const sidebar = readFileSync(join(folder, "README.md"), "utf8")
  .split("\n## ")
  .slice(1)
  .map((section) => ({
    text: section.slice(0, section.indexOf("\n")),
    items: Array.from(section.matchAll(/\[([^\]]+)\]\(([^)]+)\.md\)/g), ([, text, page]) => ({
      text: text
        .replaceAll("\n", " ")
        .replaceAll(/ +/g, " ")
        .replace(/^./, (letter) => letter.toUpperCase()),
      link: `/${page.replace(/README$/, "")}`,
    })),
  }));

export default {
  title: "Retrograde",
  description: "Agentic reinforcement learning for TypeScript",
  outDir: join(folder, "../site"),
  cacheDir: join(folder, "../node_modules/.cache/vitepress"),
  cleanUrls: true,
  rewrites: { "README.md": "index.md", ":folder/README.md": ":folder/index.md" },
  // A page that is linked has to be there; files of the project are no pages of the site.
  ignoreDeadLinks: [(link) => link.startsWith("./..") || existsSync(join(folder, link))],
  themeConfig: { sidebar, search: { provider: "local" }, outline: "deep" },
};
