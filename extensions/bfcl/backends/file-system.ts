import { present } from "../../../src/core/present.ts";
import { splitLines } from "../../python/characters.ts";
import { type Copyable, deepCopy } from "../../python/copy.ts";
import { sliceItems } from "../../python/evaluate.ts";
import { callMethod, joinTexts, sorted } from "../../python/methods.ts";
import { formatFixed, negate } from "../../python/numbers.ts";
import { compare, contains, equal, getItem, iterate, length, truth } from "../../python/operators.ts";
import { repr, str } from "../../python/text.ts";
import { Dict, PyObject, type Value, valueError } from "../../python/values.ts";
import { configured, defineBackend, error, f, itemsOf } from "./backend.ts";
import { longContent, longList, type Shared } from "./shared.ts";

/** A file. Writing replaces its content, which may be of any type. */
export class File extends PyObject implements Copyable {
  readonly typeName = "File";
  readonly name: Value;
  content: Value;

  constructor(name: Value, content: Value) {
    super();
    this.name = name;
    this.content = content;
  }

  repr(): string {
    return f`<<File: ${this.name}, Content: ${this.content}>>`;
  }

  override equals(other: Value): boolean {
    return other instanceof File && equal(this.name, other.name) && equal(this.content, other.content);
  }

  override hash(): unknown {
    return undefined;
  }

  override attribute(name: string): Value | undefined {
    return name === "name" ? this.name : name === "content" ? this.content : undefined;
  }

  deepCopy(memo: Map<object, object>): this {
    const copy = new File(this.name, null);
    memo.set(this, copy);
    copy.content = deepCopy(this.content, memo);
    return copy as this;
  }
}

/** A directory. A move keeps its map of contents and makes a new directory around it. */
export class Directory extends PyObject implements Copyable {
  readonly typeName = "Directory";
  readonly name: Value;
  parent: Directory | null;
  contents = new Dict();

  constructor(name: Value, parent: Directory | null) {
    super();
    this.name = name;
    this.parent = parent;
  }

  repr(): string {
    return `<Directory: ${str(this.name)}, Parent: ${str(this.parent?.name ?? null)}, Contents: ${repr(this.contents)}>`;
  }

  override equals(other: Value): boolean {
    return other instanceof Directory && equal(this.name, other.name) && equal(this.contents, other.contents);
  }

  override hash(): unknown {
    return undefined;
  }

  deepCopy(memo: Map<object, object>): this {
    const copy = new Directory(this.name, null);
    memo.set(this, copy);
    copy.parent = deepCopy(this.parent, memo) as Directory | null;
    copy.contents = deepCopy(this.contents, memo) as Dict;
    return copy as this;
  }

  addFile(name: Value, content: Value = ""): void {
    if (this.contents.has(name)) throw valueError(f`File '${name}' already exists in directory '${this.name}'.`);
    this.contents.set(name, new File(name, content));
  }

  addDirectory(name: Value): Directory {
    if (this.contents.has(name)) throw valueError(f`Directory '${name}' already exists in directory '${this.name}'.`);
    const directory = new Directory(name, this);
    this.contents.set(name, directory);
    return directory;
  }

  /** The item of a name, "." being the directory itself. Undefined if there is none. */
  item(name: Value): Value | undefined {
    return name === "." ? this : this.contents.get(name);
  }
}

interface FileSystemState {
  long_context: Value;
  root: Directory;
  _current_dir: Directory;
}

const forbidden = [...'|/\\?%*:"><'];

function isValidName(name: Value): boolean {
  return !forbidden.some((character) => contains(name, character));
}

/** Python's `items()` of a dict. @throws PyError for what is none, as Python does */
function loadDirectory(current: Value, into: Directory, longContext: boolean, shared: Shared): Directory {
  let bottommost = true;
  for (const [name, data] of itemsOf(current)) {
    const type = getItem(data, "type");
    if (equal(type, "directory")) {
      bottommost = false;
      into.contents.set(name, loadDirectory(getItem(data, "contents"), new Directory(name, into), longContext, shared));
    } else if (equal(type, "file")) {
      const content = getItem(data, "content");
      const extended = longContext && !contains(longList("FILES_TAIL_USED"), name);
      into.contents.set(name, new File(name, extended ? longContent(shared, content) : content));
    }
  }
  if (bottommost && longContext) for (const name of longList("POPULATE_FILE_EXTENSION")) into.addFile(name);
  return into;
}

/** The directory at a path of names, or the answer that there is none. */
function navigate(state: FileSystemState, path: Value): Directory | Dict {
  if (path === null || path === ".") return state._current_dir;
  if (path === "/") return state.root;
  const names = iterate(callMethod(callMethod(path, "strip", "/"), "split", "/"));
  let directory = truth(callMethod(path, "startswith", "/")) ? state.root : state._current_dir;
  for (const name of names) {
    const next = directory.item(name);
    if (!(next instanceof Directory)) return error(f`cd: '${path}': No such file or directory`);
    directory = next;
  }
  return directory;
}

/** The names from the root to the current directory, joined. */
function workingDirectory({ _current_dir }: FileSystemState): string {
  const names: Value[] = [];
  for (let directory: Directory | null = _current_dir; directory !== null; directory = directory.parent)
    names.push(directory.name);
  return `/${joinTexts("/", names.reverse())}`;
}

/** Reads a file of the current directory. Undefined if there is no file of this name. */
function fileAt({ _current_dir }: FileSystemState, name: Value): File | undefined {
  if (!_current_dir.contents.has(name)) return undefined;
  const item = _current_dir.item(name);
  return item instanceof File ? item : undefined;
}

function lines(content: Value): Value[] {
  return typeof content === "string" ? splitLines(content) : [...iterate(callMethod(content, "splitlines"))];
}

function bytes(item: Value): bigint {
  if (item instanceof File) {
    if (typeof item.content !== "string") return BigInt(length(callMethod(item.content, "encode", "utf-8")));
    return BigInt(Buffer.byteLength(item.content, "utf8"));
  }
  return item instanceof Directory ? item.contents.values().reduce<bigint>((sum, child) => sum + bytes(child), 0n) : 0n;
}

function humanReadable(size: bigint): string {
  let value = Number(size);
  for (const unit of ["B", "KB", "MB", "GB", "TB"]) {
    if (value < 1024) return `${formatFixed(value, 2)} ${unit}`;
    value /= 1024;
  }
  return `${formatFixed(value, 2)} PB`;
}

/** Does the part that `mv` and `cp` have in common: `place` puts the item under a name into a directory. */
function transfer(
  state: FileSystemState,
  [command, verb, done]: readonly [string, string, string],
  [source, destination]: readonly [Value, Value],
  place: (item: File | Directory, directory: Directory, name: Value) => void,
): Value {
  const here = state._current_dir;
  const refuse = (reason: string) => error(`${command}: cannot ${verb} ${reason}`);
  if (!here.contents.has(source)) return refuse(f`'${source}': No such file or directory`);
  const item = here.item(source);
  if (!(item instanceof File || item instanceof Directory)) return refuse(f`'${source}': Not a file or directory`);
  if (contains(destination, "/"))
    return error(`${command}: path not allowed in destination. Provide only a file or directory name.`);
  if (!here.contents.has(destination)) {
    place(item, here, destination);
    return Dict.of({ result: f`'${source}' ${done} to '${destination}'` });
  }
  const target = here.item(destination);
  if (!(target instanceof Directory)) return refuse(f`'${source}' to '${destination}': Not a directory`);
  // `cp` looks for the path as a name, which is there only by a slash in a name: what exists already is found by the placing itself.
  if (target.contents.has(command === "mv" ? str(source) : f`${destination}/${source}`))
    return refuse(f`'${source}' to '${destination}/${source}': File exists`);
  place(item, target, source);
  return Dict.of({ result: f`'${source}' ${done} to '${destination}/${source}'` });
}

export const fileSystemBackend = defineBackend<FileSystemState>(
  "GorillaFileSystem",
  (config, longContext, shared) => {
    let root = new Directory("/", null);
    if (config.has("root")) {
      const roots = configured(config, "root", null);
      const [name] = iterate(callMethod(roots, "keys"));
      if (name === undefined) throw valueError("list index out of range");
      root = loadDirectory(getItem(getItem(roots, name), "contents"), new Directory(name, null), longContext, shared);
    }
    return { long_context: longContext, root, _current_dir: root };
  },
  {
    "pwd()": (state) => Dict.of({ current_working_directory: workingDirectory(state) }),
    "ls(a=False)": ({ _current_dir }, all) => {
      const names = _current_dir.contents.keys();
      const shown = truth(all) ? names : names.filter((name) => !truth(callMethod(name, "startswith", ".")));
      return Dict.of({ current_directory_content: shown });
    },
    "cd(folder)": (state, path) => {
      let folder = callMethod(path, "rstrip", "/");
      if (folder === "") folder = "/";
      if (folder !== "/" && contains(folder, "/"))
        return error(f`cd: ${folder}: Unsupported path. Only one folder level at a time is supported.`);
      if (folder === "..") {
        if (state._current_dir.parent !== null) state._current_dir = state._current_dir.parent;
        else if (equal(state.root, state._current_dir)) return error("Current directory is already the root. Cannot go back.");
        else return error("cd: ..: No such directory");
        return new Dict();
      }
      const target = navigate(state, folder);
      if (target instanceof Dict) return target;
      state._current_dir = target;
      return Dict.of({ current_working_directory: target.name });
    },
    "mkdir(dir_name)": ({ _current_dir }, name) => {
      if (!isValidName(name)) return error(f`mkdir: cannot create directory '${name}': Invalid character`);
      if (_current_dir.contents.has(name)) return error(f`mkdir: cannot create directory '${name}': File exists`);
      _current_dir.addDirectory(name);
      return null;
    },
    "touch(file_name)": ({ _current_dir }, name) => {
      if (!isValidName(name)) return error(f`touch: cannot touch '${name}': Invalid character`);
      if (_current_dir.contents.has(name)) return error(f`touch: cannot touch '${name}': File exists`);
      _current_dir.addFile(name);
      return null;
    },
    "echo(content, file_name=None)": ({ _current_dir }, content, name) => {
      if (name === null) return Dict.of({ terminal_output: content });
      if (!isValidName(name)) return error(f`echo: cannot write to '${name}': Invalid character`);
      if (!truth(name)) return Dict.of({ terminal_output: content });
      if (!_current_dir.contents.has(name)) return error(f`echo: cannot write to '${name}': No such file`);
      const item = _current_dir.item(name) ?? null;
      if (!(item instanceof File)) return callMethod(item, "_write", content);
      item.content = content;
      return null;
    },
    "cat(file_name)": ({ _current_dir }, name) => {
      if (!isValidName(name)) return error(f`cat: '${name}': Invalid character`);
      if (!_current_dir.contents.has(name)) return error(f`cat: '${name}': No such file or directory`);
      const item = _current_dir.item(name);
      return item instanceof File ? Dict.of({ file_content: item.content }) : error(f`cat: '${name}': Is a directory`);
    },
    "find(path='.', name=None)": (state, path, wanted) => {
      const target = navigate(state, path);
      if (target instanceof Dict) return error(String(target.get("error")).replace("cd:", "find:"));
      const matches: Value[] = [];
      const search = (directory: Directory, base: string) => {
        for (const [name, item] of directory.contents.pairs()) {
          const at = `${base}/${str(name)}`;
          if (wanted === null || contains(name, wanted)) matches.push(at);
          if (item instanceof Directory) search(item, at);
        }
      };
      search(target, str(callMethod(path, "rstrip", "/")));
      return Dict.of({ matches });
    },
    "wc(file_name, mode='l')": (state, name, mode) => {
      if (!contains(["l", "w", "c"], mode)) return error(f`wc: invalid mode '${mode}'`);
      const file = fileAt(state, name);
      if (file === undefined) return error(f`wc: ${name}: No such file or directory`);
      const { content } = file;
      if (mode === "l") return Dict.of({ count: BigInt(lines(content).length), type: "lines" });
      if (mode === "w") return Dict.of({ count: BigInt(length(callMethod(content, "split"))), type: "words" });
      return Dict.of({ count: BigInt(length(content)), type: "characters" });
    },
    "sort(file_name)": (state, name) => {
      const file = fileAt(state, name);
      if (file === undefined) return error(f`sort: ${name}: No such file or directory`);
      return Dict.of({ sorted_content: joinTexts("\n", sorted(lines(file.content), undefined, false)) });
    },
    "grep(file_name, pattern)": (state, name, pattern) => {
      const file = fileAt(state, name);
      if (file === undefined) return error(f`grep: ${name}: No such file or directory`);
      return Dict.of({ matching_lines: lines(file.content).filter((line) => contains(line, pattern)) });
    },
    "du(human_readable=False)": ({ _current_dir }, human) => {
      const size = bytes(_current_dir);
      return Dict.of({ disk_usage: truth(human) ? humanReadable(size) : `${size} bytes` });
    },
    "tail(file_name, lines=10)": (state, name, count) => {
      const file = fileAt(state, name);
      if (file === undefined) return error(f`tail: ${name}: No such file or directory`);
      const content = lines(file.content);
      const last = compare(count, ">", BigInt(content.length)) ? BigInt(content.length) : count;
      return Dict.of({ last_lines: joinTexts("\n", sliceItems(content, negate(last), null, null)) });
    },
    "diff(file_name1, file_name2)": (state, first, second) => {
      const missing = error(f`diff: ${first} or ${second}: No such file or directory`);
      const { contents } = state._current_dir;
      if (!contents.has(first) || !contents.has(second)) return missing;
      const left = fileAt(state, first);
      const right = fileAt(state, second);
      if (left === undefined || right === undefined) return missing;
      const before = lines(left.content);
      const after = lines(right.content);
      const changes = before
        .slice(0, after.length)
        .map((line, i) => [line, present(after[i], "a line")] as const)
        .flatMap(([line, other]) => (equal(line, other) ? [] : [f`- ${line}\n+ ${other}`]));
      return Dict.of({ diff_lines: changes.join("\n") });
    },
    "mv(source, destination)": (state, source, destination) =>
      transfer(state, ["mv", "move", "moved"], [source, destination], (item, directory, name) => {
        state._current_dir.contents.delete(source);
        if (item instanceof File) directory.addFile(name, item.content);
        else directory.addDirectory(name).contents = item.contents;
      }),
    "rm(file_name)": ({ _current_dir }, name) => {
      if (!_current_dir.contents.has(name)) return error(f`rm: cannot remove '${name}': No such file or directory`);
      _current_dir.contents.delete(name);
      return Dict.of({ result: f`'${name}' removed` });
    },
    "rmdir(dir_name)": ({ _current_dir }, name) => {
      const refuse = (reason: string) => error(f`rmdir: cannot remove '${name}': ${reason}`);
      if (!_current_dir.contents.has(name)) return refuse("No such file or directory");
      const item = _current_dir.item(name);
      if (!(item instanceof Directory)) return refuse("Not a directory");
      if (item.contents.size > 0) return refuse("Directory not empty");
      _current_dir.contents.delete(name);
      return Dict.of({ result: f`'${name}' removed` });
    },
    "cp(source, destination)": (state, source, destination) =>
      transfer(state, ["cp", "copy", "copied"], [source, destination], (item, directory, name) => {
        if (item instanceof File) directory.addFile(name, item.content);
        else {
          const copy = directory.addDirectory(name);
          copy.contents = item.contents.copy();
        }
      }),
  },
  (state) => [["pwd", workingDirectory(state)]],
);
