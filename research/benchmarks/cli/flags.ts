import type { Screen } from "../../../src/terminal/screen.ts";
import type { JudgeFlags } from "./judge-flags.ts";

export interface FileFlags extends JudgeFlags {
  /** The folder with the benchmark's data. */
  readonly data?: string;
  /** Reads a file of another version too. */
  readonly anyVersion?: boolean;
}

export interface DataFlags extends FileFlags {
  /** Another address with the same files. */
  readonly from?: string;
}

/** Reads a file and writes lines of JSON to `output`; what people read goes to `notes`. @returns the exit code */
export type FileCommand = (file: string, flags: FileFlags, output: Screen, notes: Screen) => Promise<number>;

export type DataCommand = (flags: DataFlags, output: Screen) => Promise<number>;
