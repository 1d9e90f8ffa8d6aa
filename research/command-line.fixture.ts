import { invokerOf } from "../test/command-line.ts";
import { main } from "./program.ts";

/** As test/command-line.ts, with the commands and environments of this folder. */
export const invoke = invokerOf(main);
