/** `npm run research -- COMMAND`: the program with the commands and environments of this folder. */
import { runProgram } from "../entries/run-program.ts";
import { main } from "./program.ts";

await runProgram(main);
