// @ts-check
/**
 * The files of one interpreter: a tree in memory. Nothing here reaches a file of the machine.
 * Names are strings of one character a byte, so that every name that Python gives comes back as it was.
 */

/** The numbers that Emscripten's C library gives errors. */
const errors = {
  EACCES: 2,
  EBADF: 8,
  EEXIST: 20,
  EFAULT: 21,
  EINVAL: 28,
  EISDIR: 31,
  EMFILE: 33,
  ENAMETOOLONG: 37,
  ENODEV: 43,
  ENOENT: 44,
  ENOSPC: 51,
  ENOSYS: 52,
  ENOTDIR: 54,
  ENOTEMPTY: 55,
  ENOTTY: 59,
  EPERM: 63,
  ERANGE: 68,
  ESPIPE: 70,
};

/** A system call that failed. Python reads its code as `errno`. */
export class Failure extends Error {
  /** @param {keyof typeof errors} name */
  constructor(name) {
    super(name);
    this.code = errors[name];
  }
}

export const kinds = { mask: 0o170000, folder: 0o040000, regular: 0o100000, device: 0o020000 };

/**
 * @typedef {object} Entry
 * @property {number} id
 * @property {number} mode One of `kinds`, and permissions.
 * @property {Record<"accessed" | "modified" | "changed", number>} times In milliseconds.
 * @property {Map<string, Entry>} entries Of a folder.
 * @property {Entry | undefined} parent The folder that it is in; undefined once it was removed.
 * @property {Uint8Array} bytes Of a file; behind `size` is room to grow. Empty if all of them are in `shared`.
 * @property {Uint8Array | undefined} shared Bytes of every interpreter, copied before they change.
 * @property {number} size
 * @property {((bytes: Uint8Array) => void) | undefined} device Takes what is written.
 * @property {number} opened How often it is open.
 * @property {string} name Its name in the folder that it is in.
 * @property {number} counted The bytes that it takes of its interpreter's memory.
 */

const longestName = 255;
const longestPath = 4096;
/** The cost of an entry beside its bytes. */
const entryBytes = 2048;
const growth = 2 ** 20;

export class Files {
  #limit;
  /** The bytes that files take. */
  used = 0;
  #lastId = 0;

  /** @param {() => number} limit how many bytes files may take at present, names and folders included */
  constructor(limit) {
    this.#limit = limit;
    this.root = this.#entry(kinds.folder | 0o755);
    this.root.parent = this.root;
    this.current = this.root;
  }

  /**
   * Finds the entry of a path, which need not exist under its last name.
   * @param {string} path
   * @param {Entry} [from]
   * @returns {{ folder: Entry, name: string, entry: Entry | undefined }}
   */
  walk(path, from = this.current) {
    if (path === "") throw new Failure("ENOENT");
    if (path.length > longestPath) throw new Failure("ENAMETOOLONG");
    let folder = path.startsWith("/") ? this.root : from;
    const names = path.split("/").filter((name) => name !== "" && name !== ".");
    const last = names.pop() ?? "";
    for (const name of last === ".." ? [...names, last] : names) {
      const { entry } = this.#step(folder, name);
      if (entry === undefined) throw new Failure("ENOENT");
      folder = entry;
    }
    if (!isFolder(folder)) throw new Failure("ENOTDIR");
    if (last === "" || last === "..") return { folder, name: "", entry: folder };
    const asFolder = path.endsWith("/") || path.endsWith("/.");
    const end = this.#step(folder, last);
    if (asFolder && end.entry !== undefined && !isFolder(end.entry)) throw new Failure("ENOTDIR");
    return end;
  }

  /**
   * @param {Entry} folder
   * @param {string} name
   * @returns {{ folder: Entry, name: string, entry: Entry | undefined }}
   */
  #step(folder, name) {
    if (!isFolder(folder)) throw new Failure("ENOTDIR");
    if (name.length > longestName) throw new Failure("ENAMETOOLONG");
    const entry = name === ".." ? (folder.parent ?? this.root) : folder.entries.get(name);
    return { folder, name, entry };
  }

  /**
   * @param {string} path
   * @param {Entry} [from]
   */
  find(path, from) {
    const { entry } = this.walk(path, from);
    if (entry === undefined) throw new Failure("ENOENT");
    return entry;
  }

  /**
   * Makes an entry where none is.
   * @param {string} path
   * @param {number} mode
   * @param {{ from?: Entry } & Partial<Entry>} [options]
   */
  make(path, mode, { from, ...properties } = {}) {
    const { folder, name, entry: there } = this.walk(path, from);
    if (there !== undefined) throw new Failure("EEXIST");
    if (folder.parent === undefined) throw new Failure("ENOENT");
    const made = Object.assign(this.#entry(mode), properties);
    this.#count(made, { name });
    this.#link(folder, name, made);
    return made;
  }

  /**
   * @param {Entry} folder
   * @param {string} name
   */
  remove(folder, name) {
    const entry = folder.entries.get(name);
    if (entry === undefined) return;
    folder.entries.delete(name);
    entry.parent = undefined;
    touch(folder);
    this.freeIfLost(entry);
  }

  /**
   * @param {{ folder: Entry, name: string, entry: Entry | undefined }} from
   * @param {{ folder: Entry, name: string, entry: Entry | undefined }} to
   */
  move(from, to) {
    const { entry } = from;
    if (entry === undefined) throw new Failure("ENOENT");
    if (from.name === "" || to.name === "") throw new Failure("EINVAL");
    if (to.entry === entry) return;
    if (to.folder.parent === undefined) throw new Failure("ENOENT");
    for (let at = to.folder; at !== this.root; at = at.parent ?? this.root) if (at === entry) throw new Failure("EINVAL");
    if (to.entry !== undefined) {
      if (isFolder(to.entry) !== isFolder(entry)) throw new Failure(isFolder(entry) ? "ENOTDIR" : "EISDIR");
      if (to.entry.entries.size > 0) throw new Failure("ENOTEMPTY");
      this.remove(to.folder, to.name);
    }
    this.#count(entry, { name: to.name });
    from.folder.entries.delete(from.name);
    touch(from.folder);
    this.#link(to.folder, to.name, entry);
  }

  /**
   * Gives a file another size: cut, or with zeros behind.
   * @param {Entry} file
   * @param {number} size
   */
  resize(file, size) {
    if (file.shared !== undefined || size > file.bytes.length) {
      const room = Math.max(size, file.bytes.length + Math.min(file.bytes.length, growth));
      this.#count(file, { room });
      const bytes = new Uint8Array(room);
      bytes.set(contents(file).subarray(0, size));
      Object.assign(file, { bytes, shared: undefined });
    } else file.bytes.fill(0, size, Math.max(size, file.size));
    file.size = size;
    touch(file);
  }

  /** Gives back what an entry costs that nothing can find again, once. @param {Entry} entry */
  freeIfLost(entry) {
    if (entry.parent !== undefined || entry.opened > 0 || entry === this.current) return;
    this.used -= entry.counted;
    entry.counted = 0;
  }

  /** @param {Entry} folder */
  enter(folder) {
    const left = this.current;
    this.current = folder;
    this.freeIfLost(left);
  }

  /** @param {Entry} folder */
  pathOf(folder) {
    const names = [];
    for (let at = folder; at !== this.root; ) {
      const { parent } = at;
      if (parent === undefined) throw new Failure("ENOENT");
      names.unshift(at.name);
      at = parent;
    }
    return `/${names.join("/")}`;
  }

  /**
   * @param {Entry} folder
   * @param {string} name
   * @param {Entry} entry
   */
  #link(folder, name, entry) {
    folder.entries.set(name, entry);
    entry.name = name;
    entry.parent = folder;
    touch(folder);
  }

  /**
   * Counts what an entry takes, all of it: a sum of differences could be driven below what is there.
   * @param {Entry} entry
   * @param {{ name?: string, room?: number }} next
   */
  #count(entry, { name = entry.name, room = entry.bytes.length }) {
    const counted = entryBytes + name.length + room;
    const used = this.used - entry.counted + counted;
    if (counted > entry.counted && used > this.#limit()) throw new Failure("ENOSPC");
    this.used = used;
    entry.counted = counted;
  }

  /**
   * @param {number} mode
   * @returns {Entry}
   */
  #entry(mode) {
    const now = Date.now();
    return {
      id: ++this.#lastId,
      mode,
      times: { accessed: now, modified: now, changed: now },
      entries: new Map(),
      parent: undefined,
      bytes: new Uint8Array(0),
      shared: undefined,
      size: 0,
      device: undefined,
      opened: 0,
      name: "",
      counted: 0,
    };
  }
}

/** @param {Entry} file */
export function contents({ shared, bytes, size }) {
  return (shared ?? bytes).subarray(0, size);
}

/** @param {Entry} entry */
export function touch(entry) {
  entry.times.modified = entry.times.changed = Date.now();
}

/** @param {Entry} entry */
export function isFolder({ mode }) {
  return (mode & kinds.mask) === kinds.folder;
}
