import fc from "fast-check";
import { expect, test } from "vitest";
import { type Entry, Failure, Files, isFolder, kinds } from "./files.mjs";

const names = ["a", "b", "long".repeat(20)];
const paths = names.flatMap((first) => [first, ...names.map((second) => `${first}/${second}`)]).concat(".", "..", "/");
const act = fc.record({
  kind: fc.constantFrom("file", "folder", "remove", "move", "resize", "open", "close", "enter"),
  path: fc.constantFrom(...paths),
  to: fc.constantFrom(...paths),
  size: fc.integer({ min: 0, max: 5000 }),
});

/** Every entry that code could still reach: by a path, by a descriptor, or as the current folder. */
function alive(files: Files, open: readonly Entry[]): Set<Entry> {
  const found = new Set<Entry>();
  const visit = (entry: Entry) => {
    if (found.has(entry)) return;
    found.add(entry);
    for (const child of entry.entries.values()) visit(child);
  };
  for (const entry of [files.root, files.current, ...open]) visit(entry);
  return found;
}

test("the memory of files is that of the entries that are there, whatever was done before", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const files = new Files(() => 100_000);
      const open: Entry[] = [];
      for (const { kind, path, to, size } of acts) {
        try {
          if (kind === "file") files.make(path, kinds.regular | 0o644);
          else if (kind === "folder") files.make(path, kinds.folder | 0o755);
          else if (kind === "move") files.move(files.walk(path), files.walk(to));
          else if (kind === "remove") {
            const { folder, name, entry } = files.walk(path);
            if (entry?.entries.size === 0) files.remove(folder, name);
          } else if (kind === "close") {
            const entry = open.pop();
            if (entry === undefined) continue;
            entry.opened--;
            files.freeIfLost(entry);
          } else {
            const entry = files.find(path);
            if (kind === "open") {
              entry.opened++;
              open.push(entry);
            } else if (kind === "enter" && isFolder(entry)) files.enter(entry);
            else if (kind === "resize" && !isFolder(entry)) files.resize(entry, size);
          }
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
        }
        const bytes = [...alive(files, open)]
          .filter((entry) => entry !== files.root)
          .reduce((sum, entry) => sum + 2048 + entry.name.length + entry.bytes.length, 0);
        expect(files.used).toBe(bytes);
      }
    }),
    { numRuns: 300, seed: 50 },
  );
});

test("a removed folder that is the current one is paid back once, however often it is opened", () => {
  const files = new Files(() => 100_000);
  const before = files.used;
  const made = files.make("d", kinds.folder | 0o755);
  files.enter(made);
  files.remove(files.root, "d");
  for (let i = 0; i < 1000; i++) {
    made.opened++;
    made.opened--;
    files.freeIfLost(made);
  }
  expect(files.used).toBeGreaterThan(before);
  files.enter(files.root);
  expect(files.used).toBe(before);
});
