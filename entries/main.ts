#!/usr/bin/env node
import { main } from "./program.ts";
import { runProgram } from "./run-program.ts";

await runProgram(main);
