import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { ReportEntry } from "./api.ts";
import { NotFound } from "./http.ts";

/** The folders beside the runs in which `npm run research -- study` and `retrograde-rl eval` leave pages. */
const ownFolders = ["studies", "evaluations"] as const;

/** A path of a page here begins with this; the rest is relative to where the runs are. */
const own = "own/";

/**
 * Pages of the theory lab, the studies and the benchmarks: those of the package's documentation, and those that were made beside the runs.
 * A page is looked up among those that are there, so no request becomes a path.
 */
export class Reports {
  readonly #folder: string;
  readonly #beside: string;

  /**
   * @param folder with `docs`
   * @param beside the folder in which the folder of runs is
   */
  constructor(folder: string, beside: string) {
    this.#folder = folder;
    this.#beside = beside;
  }

  list(): ReportEntry[] {
    return this.#files()
      .filter((path) => path.endsWith(".md"))
      .map((path) => ({ path, title: this.#titleOf(path), section: sectionOf(path) }))
      .sort((a, b) => sections.indexOf(a.section) - sections.indexOf(b.section) || a.path.localeCompare(b.path));
  }

  /** @throws NotFound for a path that is not in the list */
  text(path: string): string {
    if (!path.endsWith(".md") || !this.#files().includes(path)) throw new NotFound(`There is no report "${path}".`);
    return readFileSync(this.#at(path), "utf8");
  }

  /** A picture of a report: shown as an image, so nothing in it runs. Undefined where there is none of that path. */
  picture(path: string): { readonly type: string; readonly bytes: Uint8Array } | undefined {
    const type = pictureTypes[/\.[a-z]+$/.exec(path)?.[0] ?? ""];
    if (type === undefined || !this.#files().includes(path)) return undefined;
    return { type, bytes: readFileSync(this.#at(path)) };
  }

  #files(): string[] {
    const made = ownFolders.flatMap((name) =>
      filesIn(join(this.#beside, name)).flatMap((path) => (/\.(md|svg|png)$/.test(path) ? [`${own}${name}/${path}`] : [])),
    );
    return [...made, ...filesIn(this.#folder)];
  }

  #at(path: string): string {
    return path.startsWith(own) ? join(this.#beside, path.slice(own.length)) : join(this.#folder, path);
  }

  /** The title of one's own page has its folder too: many have the same first line. */
  #titleOf(path: string): string {
    const title = titleOf(readFileSync(this.#at(path), "utf8"), path);
    return path.startsWith(own) ? `${title} (${dirname(path.slice(own.length))})` : title;
  }
}

/** Files below a folder. A link is no file: it could lead anywhere. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
}

const pictureTypes: Readonly<Record<string, string>> = { ".svg": "image/svg+xml", ".png": "image/png" };
const sections = ["Made here", "Theory lab", "Studies", "Benchmarks", "Algorithms", "Guides"];

function sectionOf(path: string): string {
  if (path.startsWith(own)) return "Made here";
  if (path.startsWith("lab")) return "Theory lab";
  if (path.startsWith("studies")) return "Studies";
  if (/^(performance|scale|environments\/(bfcl|appworld))/.test(path)) return "Benchmarks";
  return path.startsWith("algorithms") ? "Algorithms" : "Guides";
}

function titleOf(text: string, path: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? path;
}
